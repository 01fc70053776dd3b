// The maximum of a series, in words.
import { quantity } from "../maths/format";

type Point = readonly [time: number, value: number];

/** Return the point with the largest value; null without values. */
export function highest(points: readonly Point[]): Point | null {
  let found: Point | null = null;
  for (const each of points) if (Number.isFinite(each[1]) && (!found || each[1] > found[1])) found = each;
  return found;
}

/** Return the maximum of a series in words, and its time: "Highest 131 µg/m³"; null without a choice of times. */
export function highestOf(points: readonly Point[], unit: string): { text: string; time: number } | null {
  const found = highest(points);
  return found && points.length > 1 ? { text: `Highest ${quantity(found[1], unit)}`, time: found[0] } : null;
}
