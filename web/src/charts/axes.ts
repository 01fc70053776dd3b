// Axes of charts: scales, ticks and their texts.
import { scaleLinear, scaleLog, scaleUtc, type ScaleContinuousNumeric, type ScaleTime } from "d3-scale";
import { clock, day, number } from "../maths/format";
import type { Curve } from "./curves";

export interface Axis {
  domain: [number, number];
  kind?: "linear" | "log" | "time";
  label?: string;
  /** Values with their texts; by default round numbers. */
  ticks?: [number, string][];
}

export type Scale = ScaleContinuousNumeric<number, number> | ScaleTime<number, number>;

const HEIGHT = "height above ground";
const HOUR = 3_600_000;
const DAY = 86_400_000;

export function scaleOf({ domain, kind }: Axis, range: [number, number]): Scale {
  const margin = kind === "time" ? HOUR : 1;
  const [low, high] = domain[0] === domain[1] ? [domain[0] - margin, domain[1] + margin] : domain;
  if (kind === "time") return scaleUtc().domain([low, high]).range(range);
  return (kind === "log" ? scaleLog() : scaleLinear()).domain([low, high]).range(range);
}

/** Return the value at a position on an axis. */
export function valueAtPixel(scale: Scale, pixel: number): number {
  return Number(scale.invert(pixel));
}

export function ticksOf(scale: Scale, { kind, ticks: own }: Axis, count: number): [number, string][] {
  if (own) return own;
  if (kind === "time") {
    const time = scale as ScaleTime<number, number>;
    const ticks = time.ticks(count);
    return ticks.map((each) => [each.getTime(), tickText(each, (ticks[1]?.getTime() ?? 0) - (ticks[0]?.getTime() ?? 0))]);
  }
  const all = (scale as ScaleContinuousNumeric<number, number>).ticks(count);
  const few = all.filter((_, k) => k % Math.ceil(all.length / (count + 3)) === 0);
  return few.map((each) => [each, number(each)]);
}

/** Return the text of a tick: hours where ticks are closer than a day, except at midnight. */
function tickText(time: Date, spacing: number): string {
  const iso = time.toISOString();
  if (spacing < DAY && time.getTime() % DAY !== 0) return clock(iso);
  return spacing > 300 * DAY ? iso.slice(0, 4) : day(iso).replace(/ \d{4}$/, "");
}

/** Return a value of an axis as text: a time with its day, or a number with the unit. */
export function textAt(value: number, { kind, label }: Axis): string {
  if (label === HEIGHT) return `${heightText(value)} above ground`;
  if (kind !== "time") return `${number(value)} ${label ?? ""}`.trim();
  const iso = new Date(value).toISOString();
  return `${clock(iso)}, ${day(iso).replace(/ \d{4}$/, "")}`;
}

const HEIGHTS = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000];

/** Return an axis of heights above ground [m] up to a top; a logarithmic one begins at `lowest`. */
export function heightAxis(top: number, log: boolean, lowest: number): Axis {
  const domain: [number, number] = [log ? lowest : 0, top];
  const plain = log ? HEIGHTS : scaleLinear().domain(domain).ticks(5);
  const ticks = plain.filter((each) => each >= domain[0] && each <= top).map((each): [number, string] => [each, heightText(each)]);
  return { domain, label: HEIGHT, kind: log ? "log" : "linear", ticks };
}

/** Return a height in words: "450 m", "1.2 km". */
export const heightText = (metres: number): string => (metres >= 1000 ? `${number(metres / 1000)} km` : `${number(metres, 2)} m`);

/** Return the bounds of all points along an axis, and of further values, slightly extended. */
export function bounds(curves: readonly Curve[], axis: 0 | 1, further: readonly number[] = []): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  const include = (value: number) => {
    if (!Number.isFinite(value)) return;
    low = Math.min(low, value);
    high = Math.max(high, value);
  };
  for (const curve of curves) for (const point of curve.points) include(point[axis]);
  further.forEach(include);
  if (low > high) return [0, 1];
  const margin = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low >= 0 ? Math.max(low - margin, 0) : low - margin, high + margin];
}

/** Return the first and the last value of all points along an axis; null without points. */
export function extentOf(curves: readonly Curve[], axis: 0 | 1): [number, number] | null {
  const all = curves.flatMap((curve) => curve.points.map((point) => point[axis])).filter(Number.isFinite);
  return all.length ? [Math.min(...all), Math.max(...all)] : null;
}
