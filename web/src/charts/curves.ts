// Curves of a chart, and their values at a position.
export interface Curve {
  name: string;
  colour: string;
  dashed?: boolean;
  /** Whether the points are drawn as dots without a line, as observations are. */
  dots?: boolean;
  points: [x: number, y: number][];
}

/** The coordinate that all curves share: times are along x, heights along y. */
export type Along = "x" | "y";

export const indexOf = (along: Along): 0 | 1 => (along === "x" ? 0 : 1);

/** Return all positions of the points of curves, in ascending order. */
export function positions(curves: readonly Curve[], along: Along): number[] {
  const axis = indexOf(along);
  const all = curves.flatMap((curve) => curve.points.filter((point) => point.every(Number.isFinite)).map((point) => point[axis]));
  return [...new Set(all)].sort((one, other) => one - other);
}

/** Return the nearest of some ascending positions; null without any. */
export function nearest(all: readonly number[], to: number): number | null {
  let best: number | null = null;
  for (const each of all) if (best === null || Math.abs(each - to) < Math.abs(best - to)) best = each;
  return best;
}

/** Return the value of a curve at a position, linear between its points; NaN in a gap and outside, and for dots between them. */
export function valueOf(curve: Curve, at: number, along: Along): number {
  const axis = indexOf(along);
  const exact = curve.points.find((point) => point[axis] === at);
  if (exact) return exact[1 - axis] ?? NaN;
  if (curve.dots) return NaN;
  for (let k = 1; k < curve.points.length; k++) {
    const [before, after] = [curve.points[k - 1]!, curve.points[k]!];
    const [from, to] = [before[axis]!, after[axis]!];
    if ((at - from) * (at - to) > 0) continue;
    const part = (at - from) / (to - from);
    return before[1 - axis]! + part * (after[1 - axis]! - before[1 - axis]!);
  }
  return NaN;
}

export interface Reading {
  curve: Curve;
  value: number;
}

/** Return the curves that have a value at a position, with it. */
export function readings(curves: readonly Curve[], at: number, along: Along): Reading[] {
  return curves.map((curve) => ({ curve, value: valueOf(curve, at, along) })).filter(({ value }) => Number.isFinite(value));
}
