// The hour at which two runs are compared, and the run that has not computed it.
import { computed } from "@preact/signals";
import { command } from "./actions";
import type { GridInfo } from "../protocol/types";
import { timeText } from "./clock";
import { arrived, infos, past, sessions } from "./store";
import { displayedTime, view, watched } from "./view";

const INSTANT = 1;

export interface Behind {
  session: string;
  until: number;
  reached: string;
  requested: string;
  running: boolean;
}

/** The time [s] at which two runs are displayed: the selected hour, otherwise the latest one that both have; null for one run. */
export const comparedTime = computed<number | null>(() => {
  const [one, other] = watched.value;
  void arrived.value;
  if (!one || !other) return null;
  return displayedTime.value ?? past(one).together(past(other));
});

/** Greatest distance of positions that a recording rounds, in their unit. */
const ROUNDED = 1e-3;

/** Return whether two grids have the same cells; levels may be recorded or not. */
export function sameGrid(one: GridInfo, other: GridInfo): boolean {
  if (one.kind !== other.kind || one.rows !== other.rows || one.columns !== other.columns) return false;
  const axes = new Map(other.coordinates.map((each) => [each.name, each.values]));
  return one.coordinates.filter((each) => each.name !== "level" && axes.has(each.name))
    .every((each) => each.values.every((value, k) => Math.abs(value - (axes.get(each.name)?.[k] ?? NaN)) < ROUNDED));
}

/** Return whether two runs are of the same model on the same grid, so that they can be compared. */
export function isComparable(one: string, other: string): boolean {
  const [first, second] = [infos.value[one], infos.value[other]];
  return !!first && !!second && first.state.model === second.state.model && sameGrid(first.grid, second.grid);
}

/** Return whether a run has computed a time. */
export const hasTime = (name: string, seconds: number): boolean => (sessions.value[name]?.seconds ?? Infinity) >= seconds - INSTANT;

/** The displayed run that has not computed the selected hour, or that is behind the other one in the present. */
export const isBehind = computed<Behind | null>(() => {
  const runs = watched.value.map((name) => sessions.value[name]);
  const [one, other] = runs;
  if (!one || !other) return null;
  const until = displayedTime.value ?? Math.max(one.seconds, other.seconds);
  const found = [one, other].find((each) => !each.recorded && !hasTime(each.session, until));
  if (!found || (found.status === "running" && displayedTime.value === null)) return null;
  const zero = Date.parse(found.time) - 1000 * found.seconds;
  return {
    session: found.session, until, reached: timeText(found.time, "hour"), requested: timeText(zero + 1000 * until, "hour"), running: found.status === "running",
  };
});

export const runBehind = (found: Behind): Promise<unknown> => command(found.session, { kind: "run", until: found.until, steps_per_second: view.value.speed });
