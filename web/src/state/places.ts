// Data of marked places and of the line: time series, profiles, the cross-section.
import { computed } from "@preact/signals";
import type { Curve } from "../charts/curves";
import { HUES } from "../maths/hues";
import { cellAt, valueAt, type Cell, type Grid, type Place } from "../maths/grid";
import { windowAlong } from "../maths/section";
import { convert, type Unit } from "../maths/units";
import type { Frame } from "../protocol/frames";
import type { Subscription } from "../protocol/types";
import { airAt, airFrom } from "./companions";
import { arrived, earlier, grid, info, latest, past, variable, variables } from "./store";
import { positionName } from "./place_names";
import { nameOf } from "./names";
import { fields, unit } from "./scale";
import { displayedTime, view, watched } from "./view";

export interface Marked {
  place: Place;
  /** The place in words, such as "12 km NE of Cologne". */
  name: string;
  cell: Cell | null;
  colour: string;
}

export const marked = computed<Marked[]>(() =>
  view.value.places.map((place, k) => ({
    place, name: positionName(place) || `place ${k + 1}`, cell: grid.value && cellAt(grid.value, place), colour: HUES[k % HUES.length] ?? "",
  })),
);

/** The value of each marked place at the displayed time, in the unit of the map; NaN without one. */
export const placeValues = computed<number[]>(() => {
  const map = grid.value;
  const of = fields.value.find((each) => each.session === view.value.session);
  return marked.value.map(({ cell }) => (map && cell && of ? valueAt(of.values, map, cell) : NaN));
});

/** Frames of columns: of the present, or of the displayed past time. */
export const columnFrames = computed(() => (displayedTime.value === null ? latest.value : earlier.value));

/** Value of a frame at a cell in the unit of the scale. */
function value(frame: Frame, map: Grid, cell: Cell, of: Unit, air: Float32Array | null): number {
  const at = cell.row * map.columns + cell.column;
  const own = frame.values[at] ?? NaN;
  return convert(Float32Array.of(own), of, air && Float32Array.of(air[at] ?? NaN))[0] ?? NaN;
}

export const series = computed<Curve[]>(() => {
  void arrived.value;
  const map = grid.value;
  const shownIn = unit.value;
  if (!map || !shownIn) return [];
  const present = displayedTime.value === null ? past(view.value.session).last?.header.seconds : null;
  const airOf = ({ header }: Frame) => (shownIn.byAir ? airAt(header.seconds === present ? null : header.seconds) : null);
  return marked.value.flatMap(({ cell, colour, name }, k) =>
    watched.value.map((session, other) => ({
      name: curveName(k, name, session), colour, dashed: other > 0,
      points: !cell ? [] : past(session).frames.filter((frame) => frame.header.variable === variable.value?.name)
        .map((frame): [number, number] => [Date.parse(frame.header.time), value(frame, map, cell, shownIn, airOf(frame))]),
    })),
  );
});

/** Return the name of a curve: of its place, and of the run where there are several. */
function curveName(number: number, place: string, session: string): string {
  return `${number + 1} ${place}${watched.value.length > 1 ? `, ${nameOf(session)}` : ""}`;
}

export const hasLevels = computed(() => (variable.value?.dims.length ?? 0) > 2 && (info.value?.grid.levels.length ?? 0) > 1);

export const profiles = computed<Curve[]>(() => {
  const heights = info.value?.grid.levels ?? [];
  const of = unit.value;
  if (!of || !hasLevels.value) return [];
  return marked.value.flatMap(({ colour, cell, name }, k): Curve[] => {
    const frame = columnFrames.value[`profile:${k}`];
    if (!cell || !frame || frame.header.variable !== variable.value?.name || frame.header.shape.length !== 3) return [];
    const shown = convert(frame.values, of, airFrom((each) => columnFrames.value[`air:${each.name}:profile:${k}`]?.values));
    return [{ name: `${k + 1} ${name}`, colour, points: heights.map((height, level) => [shown[level] ?? NaN, height]) }];
  });
});

/** The height of the boundary layer, if the model has it. */
export const ceiling = computed(() => variables.value.find((each) => each.standard_name === "atmosphere_boundary_layer_thickness") ?? null);

/** Height of the boundary layer [m] at each marked place; NaN where it is not known at the displayed time. */
export const ceilings = computed<number[]>(() => marked.value.map((_, k) => columnFrames.value[`top:${k}`]?.values[0] ?? NaN));

/** Return the subscriptions of the panel of places. */
export function subscriptions(): Subscription[] {
  const selected = variable.value;
  const map = grid.value;
  if (view.value.panel !== "place" || !selected || !map || !hasLevels.value) return [];
  const of = { session: view.value.session, variable: selected.name, hz: 5 };
  const at = ({ row, column }: Cell): [number, number, number, number] => [row, row + 1, column, column + 1];
  const top = ceiling.value;
  const found: Subscription[] = marked.value.flatMap(({ cell }, k) => (!cell ? [] : [
    { ...of, id: `profile:${k}`, window: at(cell) }, ...(top ? [{ ...of, id: `top:${k}`, variable: top.name, window: at(cell) }] : []),
  ]));
  const window = view.value.line && windowAlong(map, view.value.line);
  if (!window) return found;
  return [...found, { ...of, id: "curtain", window }, ...(top ? [{ ...of, id: "top:curtain", variable: top.name, window }] : [])];
}
