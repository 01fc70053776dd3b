// Displayed values: in a unit, over a range, in colours, with limit values.
import { computed } from "@preact/signals";
import { signedTable, SIGNED } from "../maths/colours";
import { number } from "../maths/format";
import { around, automatic, extent, fraction, ticks, usualSize, type ContourLevel, type Range } from "../maths/range";
import { limitsIn, rangeIn, scaleOf, tableOf, type Limit } from "../maths/scales";
import { convert, unitFor, unitsOf, type Unit } from "../maths/units";
import type { Frame } from "../protocol/frames";
import { hasAir, mapAir } from "./companions";
import { overlay } from "./overlay";
import { comparedTime, hasTime } from "./compared";
import type { Past } from "./past";
import { arrived, level, past, shown, variable } from "./store";
import { isDark } from "./theme";
import { displayedTime, view, watched, type View } from "./view";

export interface Shown {
  session: string;
  frame: Frame;
  /** In the unit of the scale. */
  values: Float32Array;
}

/** Largest first value of each variable: its unit stays the same when values grow. */
const largest = new Map<string, number>();

const scale = computed(() => variable.value && scaleOf(variable.value));

/** Units of the displayed variable, the default one first. */
export const units = computed<Unit[]>(() => (variable.value ? unitsOf(variable.value, hasAir.value, scale.value?.particle) : []));

export const unit = computed<Unit | null>(() => {
  const selected = variable.value;
  if (!selected) return null;
  const header = shown(view.value.session)?.header;
  if (header?.variable === selected.name && !largest.get(selected.name)) largest.set(selected.name, header.range?.[1] ?? 0);
  return unitFor(units.value, view.value.unit, largest.get(selected.name) ?? 0, scale.value?.unit ?? null);
});

export const comparing = computed(() => view.value.compare === "difference" && watched.value.length > 1);

/** The frame of a session; for two sessions that of the selected hour, otherwise of the latest common one; null where a run has not computed it. */
function frameOf(name: string): Frame | null {
  const time = comparedTime.value;
  if (time === null) return shown(name);
  if (displayedTime.value === null) return past(name).at(time);
  return hasTime(name, time) ? shown(name) : null;
}

/** The fields of the displayed sessions, in the unit of the scale. */
export const fields = computed<Shown[]>(() => {
  const selected = variable.value;
  if (!selected) return [];
  void arrived.value;
  const found: Shown[] = [];
  for (const session of watched.value) {
    const frame = frameOf(session);
    if (frame?.header.variable !== selected.name) continue;
    if (unit.value) found.push({ session, frame, values: convert(frame.values, unit.value, unit.value.byAir ? mapAir.value : null) });
  }
  return found;
});

/** The second field minus the first, where both are of the same time. */
export const difference = computed<Shown | null>(() => {
  const [one, other] = fields.value;
  if (!comparing.value || !one || !other) return null;
  if (one.frame.header.seconds !== other.frame.header.seconds) return null;
  return { ...other, values: other.values.map((value, k) => value - (one.values[k] ?? NaN)) };
});

/** Extremes of fields and sizes of differences so far, by field, level, unit and runs: ranges of fields without a default only grow. */
const grown = new Map<string, [low: number, high: number]>();

/** The field, height, unit and runs of the scale. */
const scaleKey = (): string => [variable.value?.name, level.value, unit.value?.id, watched.value].join("|");

function grow(kind: string, found: [number, number] | null): [number, number] {
  const key = `${kind}|${scaleKey()}`;
  const before = grown.get(key);
  if (found) grown.set(key, before ? [Math.min(before[0], found[0]), Math.max(before[1], found[1])] : found);
  return grown.get(key) ?? [0, 0];
}

let former: Range | null = null;
let formerOf = "";

export const range = computed<Range>(() => (overlay.value?.range ?? (comparing.value ? differenceRange() : fieldRange())));

function fieldRange(): Range {
  const { range: chosen, log: chosenLog } = view.value;
  const usual = scale.value && unit.value && rangeIn(scale.value, unit.value, units.value);
  const log = (chosenLog ?? usual?.log ?? false) && (positive.value || (usual?.low ?? 0) > 0);
  if (Array.isArray(chosen) && !(log && chosen[0] <= 0)) return { low: chosen[0], high: chosen[1], log };
  if (usual && chosen !== "map") return { low: log && usual.low <= 0 ? usual.high / 1000 : !log && usual.log ? 0 : usual.low, high: usual.high, log };
  const of = `${variable.value?.name} ${unit.value?.id} ${chosen}`;
  if (of !== formerOf) former = null;
  formerOf = of;
  former = automatic(chosen === "map" ? displayed() : Float32Array.from(grow("field", extremes())), log, former);
  return former;
}

const displayed = (): Float32Array => fields.value[0]?.values ?? new Float32Array();

/** Return the extremes of all received hours of the displayed runs, in the unit of the scale. */
function extremes(): [number, number] | null {
  const now = fields.value.map((each) => extent(each.values)).filter((each) => each !== null).flat();
  const all = unit.value && !unit.value.byAir ? convert(Float32Array.from(watched.value.flatMap((name) => past(name).extremes)), unit.value, null) : [];
  return extent(Float32Array.of(...now, ...all));
}

function differenceRange(): Range {
  const now = usualSize(difference.value?.values ?? new Float32Array());
  const { range: chosen, span } = view.value;
  if (chosen === "map") return around(now || 1);
  if (span?.of === scaleKey()) return around(span.size);
  const [one = "", other = ""] = watched.value;
  const all = unit.value && !unit.value.byAir ? largestDifference(past(one), past(other)) * unit.value.factor : 0;
  const [, size] = grow("difference", [0, Math.max(now, all)]);
  return around(size || 1);
}

/** The displayed range of a difference, for a link that shows the same colours; null for a field. */
export const displayedSpan = computed<View["span"]>(() => (difference.value && !overlay.value ? { of: scaleKey(), size: range.value.high } : null));

const sizes = new WeakMap<Frame, { other: Frame; size: number }>();

/** Return the usual size of differences in all common hours, in the unit of the model. */
function largestDifference(one: Past, other: Past): number {
  const byTime = new Map(one.frames.map((each) => [each.header.seconds, each]));
  let most = 0;
  for (const frame of other.frames) {
    const with_ = byTime.get(frame.header.seconds);
    if (!with_ || with_.values.length !== frame.values.length) continue;
    let known = sizes.get(frame);
    if (known?.other !== with_) {
      known = { other: with_, size: usualSize(frame.values.map((value, k) => value - (with_.values[k] ?? NaN))) };
      sizes.set(frame, known);
    }
    most = Math.max(most, known.size);
  }
  return most;
}

/** Whether a logarithmic scale has positive values to show. */
export const positive = computed(() => {
  const [low, high] = extent(displayed()) ?? [0, 0];
  return high > 0 && low >= -1e-6 * high;
});

export const colours = computed(() => {
  const chosen = comparing.value || overlay.value ? SIGNED : (view.value.colours ?? (variable.value ? tableOf(variable.value) : ""));
  return chosen === SIGNED ? signedTable(isDark.value) : chosen;
});

/** Limit values of the displayed field in the unit of the scale; they apply at the ground. */
export const limits = computed<(Limit & { at: number })[]>(() =>
  variable.value && unit.value && level.value === 0 && !comparing.value && !overlay.value ? limitsIn(variable.value, unit.value, units.value) : [],
);

/** Return the highest limit that a value exceeds, or null. */
export const exceeded = (value: number): (Limit & { at: number }) | null => limits.value.findLast((each) => value > each.at) ?? null;

/** Return a limit in words: "EU information threshold, 180 µg/m³ (mean of 1 h)". */
export const limitText = (limit: Limit & { at: number }): string =>
  `${limit.set_by} ${limit.kind}, ${Number(limit.at.toPrecision(3))} ${unit.value?.label ?? ""} (mean of ${limit.mean === "year" ? "a year" : limit.mean})`;

const CONTOURS = 8;
/** Part of the range in which a limit replaces a round value. */
const NEAR = 0.04;

/** Values with contour lines: round ones, and limits, which replace round ones near them. */
export const contourLevels = computed<ContourLevel[]>(() => {
  const marks = [...new Set(limits.value.map((each) => each.at))].filter((each) => fraction(each, range.value) > 0 && fraction(each, range.value) <= 1);
  const near = (value: number) => marks.some((each) => Math.abs(fraction(each, range.value) - fraction(value, range.value)) < NEAR);
  const round = ticks(range.value, CONTOURS).filter((each) => !near(each) && !(comparing.value && each === 0));
  const level = (limit: boolean) => (value: number): ContourLevel => ({ value, limit, text: `${comparing.value && value > 0 ? "+" : ""}${number(value)} ${unit.value?.label ?? ""}`.trim() });
  return [...round.map(level(false)), ...marks.map(level(true))].sort((a, b) => a.value - b.value);
});

/** Whether displayed values are beyond the low and the high end of the scale. */
export const beyond = computed<{ low: boolean; high: boolean }>(() => {
  const values = comparing.value ? (difference.value?.values ?? new Float32Array()) : displayed();
  const [low, high] = extent(values) ?? [range.value.low, range.value.high];
  return { low: low < range.value.low && !(range.value.low === 0 && low > -1e-6 * high), high: high > range.value.high };
});
