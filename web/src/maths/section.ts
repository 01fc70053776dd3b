// Samples along the line of a cross-section.
import { cellAt, type Grid, type Place } from "./grid";

/** Samples along the line. */
export const STEPS = 140;

export type Line = [Place, Place];

/** Return the position of a sample in the middle of its part of the line. */
export const sampleOf = ([a, b]: Line, k: number): Place => along([a, b], (k + 0.5) / STEPS);

export function along([a, b]: Line, part: number): Place {
  return [a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part];
}

/** Return the rows and columns that hold all samples of a line; null for a line outside the map. */
export function windowAlong(map: Grid, line: Line): [number, number, number, number] | null {
  const cells = Array.from({ length: STEPS }, (_, k) => cellAt(map, sampleOf(line, k))).filter((each) => each !== null);
  if (!cells.length) return null;
  const rows = cells.map((each) => each.row);
  const columns = cells.map((each) => each.column);
  return [Math.min(...rows), Math.max(...rows) + 1, Math.min(...columns), Math.max(...columns) + 1];
}

/** Return values of a window (levels, rows, columns) at the samples, level by level; NaN outside. */
export function sampled(values: Float32Array, shape: readonly number[], window: readonly number[], map: Grid, line: Line): Float32Array {
  const [levels, rows, columns] = shape.length > 2 ? [shape[0]!, shape[1]!, shape[2]!] : [1, shape[0] ?? 0, shape[1] ?? 0];
  const found = new Float32Array(levels * STEPS).fill(NaN);
  for (let k = 0; k < STEPS; k++) {
    const cell = cellAt(map, sampleOf(line, k));
    if (!cell) continue;
    const [row, column] = [cell.row - (window[0] ?? 0), cell.column - (window[2] ?? 0)];
    if (row < 0 || row >= rows || column < 0 || column >= columns) continue;
    for (let up = 0; up < levels; up++) found[up * STEPS + k] = values[(up * rows + row) * columns + column] ?? NaN;
  }
  return found;
}
