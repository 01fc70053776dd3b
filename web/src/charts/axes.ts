// Axes of charts: scales, ticks and their texts.
import { scaleLinear, scaleLog, scaleUtc, type ScaleContinuousNumeric, type ScaleTime } from "d3-scale";
import { number } from "../maths/format";
import { timeText, zone } from "../state/clock";
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
    return timeTicks((scale as ScaleTime<number, number>).domain().map(Number), count);
  }
  const all = (scale as ScaleContinuousNumeric<number, number>).ticks(count);
  const few = all.filter((_, k) => k % Math.ceil(all.length / (count + 3)) === 0);
  return few.map((each) => [each, number(each)]);
}

/** Return ticks at round times of the chosen clock. */
function timeTicks([from = 0, to = 0]: number[], count: number): [number, string][] {
  const offset = zone.value(from);
  const ticks = scaleUtc().domain([from + offset, to + offset]).ticks(count).map(Number);
  const spacing = (ticks[1] ?? 0) - (ticks[0] ?? 0);
  return ticks.map((each) => [each - offset, tickText(each - offset, each % DAY === 0, spacing)]);
}

/** Return the text of a tick: hours where ticks are closer than a day, except at midnight. */
function tickText(time: number, isMidnight: boolean, spacing: number): string {
  if (spacing < DAY && !isMidnight) return timeText(time, "hour");
  return spacing > 300 * DAY ? timeText(time, "date").slice(-4) : timeText(time, "day");
}

/** Return a value of an axis as text: a time with its day, or a number with the unit. */
export function textAt(value: number, { kind, label }: Axis): string {
  if (label === HEIGHT) return `${heightText(value)} above ground`;
  if (kind !== "time") return `${number(value)} ${label ?? ""}`.trim();
  return `${timeText(value, "clock")}, ${timeText(value, "day")}`;
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
