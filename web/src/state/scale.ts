// Displayed values: in a unit, over a range, in colours.
import { computed } from "@preact/signals";
import { SIGNED, tableOf } from "../maths/colours";
import { automatic, extent, symmetric, type Range } from "../maths/range";
import { convert, unitFor, unitsOf, type Unit } from "../maths/units";
import type { Frame } from "../protocol/frames";
import { arrived, air, latest, past, shown, variable } from "./store";
import { displayedTime, view, watched } from "./view";

export interface Shown {
  session: string;
  frame: Frame;
  /** In the unit of the scale. */
  values: Float32Array;
}

/** Largest first value of each variable: its unit stays the same when values grow. */
const largest = new Map<string, number>();

export const unit = computed<Unit | null>(() => {
  const selected = variable.value;
  if (!selected) return null;
  const header = shown(view.value.session)?.header;
  if (header?.variable === selected.name && !largest.get(selected.name)) largest.set(selected.name, header.range?.[1] ?? 0);
  return unitFor(unitsOf(selected, air.value !== null), view.value.unit, largest.get(selected.name) ?? 0);
});

export const comparing = computed(() => view.value.compare === "difference" && watched.value.length > 1);

/** The frame of a session; for two compared sessions that of the latest common time. */
function frameOf(name: string): Frame | null {
  const [one = name, other = name] = watched.value;
  const time = comparing.value && displayedTime.value === null ? past(one).together(past(other)) : null;
  return time === null ? shown(name) : past(name).at(time);
}

/** The fields of the displayed sessions, in the unit of the scale. */
export const fields = computed<Shown[]>(() => {
  const selected = variable.value;
  if (!selected) return [];
  void arrived.value;
  const air = latest.value["air"]?.values ?? null;
  const found: Shown[] = [];
  for (const session of watched.value) {
    const frame = frameOf(session);
    if (frame?.header.variable !== selected.name) continue;
    if (unit.value) found.push({ session, frame, values: convert(frame.values, unit.value, air) });
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

let former: Range | null = null;
let formerDifference: Range | null = null;
let formerOf = "";

export const range = computed<Range>(() => {
  const { range: fixed, log } = view.value;
  const of = `${variable.value?.name} ${unit.value?.id}`;
  if (of !== formerOf) former = formerDifference = null;
  formerOf = of;
  if (comparing.value) {
    formerDifference = symmetric(difference.value?.values ?? new Float32Array(), formerDifference);
    return formerDifference;
  }
  if (fixed && !(log && fixed[0] <= 0)) return { low: fixed[0], high: fixed[1], log };
  former = automatic(spread(), log && positive.value, former);
  return former;
});

/** Return the displayed values and the extremes of all recorded hours, so that colours are the same through the day. */
function spread(): Float32Array {
  const shownNow = fields.value[0]?.values ?? new Float32Array();
  const all = unit.value && !unit.value.byAir ? convert(Float32Array.from(past(view.value.session).extremes), unit.value, null) : [];
  return all.length ? Float32Array.of(...all, ...(extent(shownNow) ?? [])) : shownNow;
}

/** Whether a logarithmic scale has positive values to show. */
export const positive = computed(() => {
  const [low, high] = extent(fields.value[0]?.values ?? new Float32Array()) ?? [0, 0];
  return high > 0 && low >= -1e-6 * high;
});

export const colours = computed(() => {
  if (comparing.value) return SIGNED;
  return view.value.colours ?? tableOf(variable.value?.name ?? "");
});
