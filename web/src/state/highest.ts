// The maximum of a series, and the value at the displayed time, as a sentence.
import { clock, number } from "../maths/format";

type Point = readonly [time: number, value: number];

const DAY = { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" } as const;

/** Return a time as text: "Wed 31 Aug, 15:00 UTC", or "Wed 31 Aug 2022, 15:00 UTC". */
export function momentText(time: number, year = false): string {
  const iso = new Date(time).toISOString();
  return `${new Date(time).toLocaleDateString("en-GB", year ? { ...DAY, year: "numeric" } : DAY).replace(",", "")}, ${clock(iso)} UTC`;
}

/** Return the point with the largest value; null without values. */
export function highest(points: readonly Point[]): Point | null {
  let found: Point | null = null;
  for (const each of points) if (Number.isFinite(each[1]) && (!found || each[1] > found[1])) found = each;
  return found;
}

/** Return the value at or before a time; null without one. */
export function valueAtTime(points: readonly Point[], time: number): number | null {
  const found = points.findLast((each) => each[0] <= time)?.[1];
  return found !== undefined && Number.isFinite(found) ? found : null;
}

/** Return the maximum of a series as a sentence: "Highest 131 µg/m³ on Wed 31 Aug, 15:00 UTC"; empty without a choice of times. */
export function highestText(points: readonly Point[], unit: string): string {
  const found = highest(points);
  if (!found || points.length < 2) return "";
  return `Highest ${[number(found[1]), unit].filter(Boolean).join(" ")} on ${momentText(found[0])}`;
}
