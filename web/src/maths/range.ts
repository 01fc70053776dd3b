// The range of the colour scale.
import { scaleLinear, scaleLog } from "d3-scale";

export interface Range {
  low: number;
  high: number;
  log: boolean;
}

/** A value with a contour line. */
export interface ContourLevel {
  value: number;
  text: string;
  /** Whether it is a limit, which has a heavier line. */
  limit: boolean;
}

export function extent(values: Float32Array): [number, number] | null {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : null;
}

const DECADES = 4;
/** A range is retained while values fill this part of it and none is outside, so that colours do not flicker. */
const FILLED = 0.55;

/** Return the range of values with round bounds, or the previous range where it still fits. */
export function automatic(values: Float32Array, log: boolean, former: Range | null): Range {
  const found = extent(values) ?? [0, 1];
  if (former && former.log === log && fits(found, former)) return former;
  return log ? logarithmic(found) : linear(found);
}

function fits([low, high]: [number, number], range: Range): boolean {
  const whole = range.high - range.low;
  return low >= range.low && high <= range.high && (range.log ? high > range.high / 3 : high - low >= FILLED * whole);
}

function linear([low, high]: [number, number]): Range {
  if (low === high) return { low: Math.min(low, 0), high: high > 0 ? high : low < 0 ? 0 : 1, log: false };
  const base = low > 0 && low < 0.35 * high ? 0 : low;
  const [from = low, to = high] = scaleLinear().domain([base, high]).nice(6).domain();
  return { low: from, high: to, log: false };
}

function logarithmic([low, high]: [number, number]): Range {
  const top = high > 0 ? high : 1;
  const bottom = Math.max(low, top / 10 ** DECADES);
  const [from = bottom, to = top] = scaleLog().domain([Math.min(bottom, top / 10), top]).nice().domain();
  return { low: from, high: to, log: true };
}

/** Return the size that 99.5 % of values do not exceed: a few cells beyond the ends of a scale of differences must not hide the others. */
export function usualSize(values: Float32Array): number {
  const sizes = values.filter((each) => !Number.isNaN(each)).map(Math.abs).sort();
  return sizes[Math.ceil(0.995 * sizes.length) - 1] ?? 0;
}

/** Return the symmetric range with a round end that holds a size. */
export function around(size: number): Range {
  const [, to = size] = scaleLinear().domain([0, Number(size.toPrecision(4))]).nice(4).domain(); // round-off must not reach the next round number
  return { low: -to, high: to, log: false };
}

/** Return the position of a value in a range, 0 to 1 inside, without limits. */
export function fraction(value: number, range: Range): number {
  if (range.log) return (Math.log(value) - Math.log(range.low)) / (Math.log(range.high) - Math.log(range.low));
  return (value - range.low) / (range.high - range.low);
}

export function ticks(range: Range, count: number): number[] {
  if (!range.log) return scaleLinear().domain([range.low, range.high]).ticks(count);
  const all = scaleLog().domain([range.low, range.high]).ticks(count);
  const decades = all.filter((each) => Math.abs(Math.log10(each) - Math.round(Math.log10(each))) < 1e-9);
  return decades.length > 1 ? decades : all;
}
