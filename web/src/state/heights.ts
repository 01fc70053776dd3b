// Heights of layers in words.
import { number } from "../maths/format";

/** Return the height of a layer in words: "at the ground", "≈ 300 m"; its number where the model has no heights. */
export function heightText(heights: readonly number[], level: number, count = heights.length): string {
  if (level === 0) return "at the ground";
  const height = heights.length === count ? heights[level] : undefined;
  if (height === undefined) return `layer ${level + 1}`;
  return height >= 2000 ? `≈ ${number(height / 1000, 2)} km` : `≈ ${number(height, 2)} m`;
}
