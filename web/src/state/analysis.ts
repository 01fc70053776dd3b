// Assimilation: the analysis of the displayed runs before and after, and its maps.
import { computed, effect, signal } from "@preact/signals";
import { positionOf } from "../maths/grid";
import { around } from "../maths/range";
import { bulk } from "../maths/sources";
import type { Analysis, AnalysisControl } from "../protocol/types";
import { overlay, type Dot } from "./overlay";
import { geography, grid, http, sessions, shown } from "./store";
import { view } from "./view";

export const BEFORE = "before";
export const AFTER = "after";

export const analysis = signal<Analysis | null>(null);
/** The map in place of the field: a control by its name, or residuals of one of the runs. */
export const shownMap = signal<{ control: string } | { residuals: typeof BEFORE | typeof AFTER } | null>(null);

/** Whether the server shows both runs of an assimilation. */
export const hasAnalysis = computed(() => [BEFORE, AFTER].every((name) => sessions.value[name]?.recorded));

/** Request the analysis once, and draw its maps while the panel of stations is open. */
export function followAnalysis(): void {
  effect(() => {
    if (!hasAnalysis.value || analysis.peek()) return;
    void http.get<Analysis>(`/sessions/${AFTER}/analysis`).then((found) => (analysis.value = found), () => undefined);
  });
  let own = false;
  effect(() => {
    const map = view.value.panel === "stations" ? shownMap.value : null;
    if (map && analysis.value) draw(analysis.value, map);
    else if (own) overlay.value = null;
    own = map !== null;
  });
}

function draw(of: Analysis, map: NonNullable<typeof shownMap.value>): void {
  const frame = shown(view.value.session);
  if (!frame) return;
  const base = { session: view.value.session, frame, at: null };
  const control = "control" in map ? of.controls.find((each) => each.name === map.control) : null;
  if (control) {
    const values = changeOf(control);
    const factor = control.unit === "1" ? 100 : 1e9;
    const shownValues = values.map((each) => each * factor);
    overlay.value = {
      ...base, values: shownValues, range: around(bulk(shownValues, 1) || 1), unit: control.unit === "1" ? "%" : "ppb",
      title: `Correction: ${control.text}`, ends: ["less", "more"],
    };
  } else if ("residuals" in map) {
    const dots = dotsOf(of, map.residuals);
    const largest = bulk(Float32Array.from(of.stations, (each) => Math.abs(each.mean_before)), 0.95);
    overlay.value = {
      ...base, values: new Float32Array(frame.values.length), range: around(largest || 1), unit: of.stations[0]?.unit ?? "",
      title: `Measured minus modelled, ${map.residuals}`, ends: ["model too high", "model too low"], dots,
    };
  }
}

/** Return the change of a control: of a factor relative to the one before, of an increment the difference. */
export function changeOf(control: AnalysisControl): Float32Array {
  return Float32Array.from(control.after, (after, k) => {
    const before = control.before[k] ?? NaN;
    return control.unit === "1" ? after / before - 1 : after - before;
  });
}

function dotsOf(of: Analysis, which: typeof BEFORE | typeof AFTER): Dot[] {
  const map = grid.value;
  return of.stations.flatMap((each): Dot[] => {
    const at = map && positionOf(map, geography.value?.places ?? null, [each.lon, each.lat]);
    return at ? [{ station: { id: each.station }, at, observed: which === BEFORE ? each.mean_before : each.mean_after }] : [];
  });
}

/** Return the root mean square of departures over all stations, or over the withheld ones. */
export function spread(of: Analysis, withheld: boolean): { count: number; before: number; after: number } {
  const all = of.stations.filter((each) => each.withheld === withheld);
  const count = all.reduce((sum, each) => sum + each.observations, 0);
  const mean = (value: (each: Analysis["stations"][number]) => number) =>
    Math.sqrt(all.reduce((sum, each) => sum + each.observations * value(each) ** 2, 0) / Math.max(count, 1));
  return { count, before: mean((each) => each.before), after: mean((each) => each.after) };
}
