// Data of marked places and of the line: time series, profiles, the cross-section.
import { computed } from "@preact/signals";
import type { Curve } from "../charts/Chart";
import { HUES } from "../maths/hues";
import { distance } from "../maths/sphere";
import { cellAt, type Cell, type Grid, type Place } from "../maths/grid";
import { convert, type Unit } from "../maths/units";
import type { Frame } from "../protocol/frames";
import type { Subscription } from "../protocol/types";
import { arrived, earlier, grid, info, latest, past, placeOf, variable } from "./store";
import { airAt } from "./companions";
import { unit } from "./scale";
import { displayedTime, view, watched } from "./view";

/** Samples along the line of the cross-section. */
export const STEPS = 140;

export interface Marked {
  place: Place;
  cell: Cell | null;
  colour: string;
}

export const marked = computed<Marked[]>(() =>
  view.value.places.map((place, k) => ({
    place, cell: grid.value && cellAt(grid.value, place), colour: HUES[k % HUES.length] ?? "",
  })),
);

/** Frames of columns: of the present, or of the displayed past time. */
const columnFrames = computed(() => (displayedTime.value === null ? latest.value : earlier.value));

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
  return marked.value.flatMap(({ cell, colour }, k) =>
    watched.value.map((session, other) => ({
      name: `${k + 1} ${session}`, colour, dashed: other > 0,
      points: !cell ? [] : past(session).frames.filter((frame) => frame.header.variable === variable.value?.name)
        .map((frame): [number, number] => [Date.parse(frame.header.time), value(frame, map, cell, shownIn, airOf(frame))]),
    })),
  );
});

export const hasLevels = computed(() => (variable.value?.dims.length ?? 0) > 2 && (info.value?.grid.levels.length ?? 0) > 1);

export const profiles = computed<Curve[]>(() => {
  const heights = info.value?.grid.levels ?? [];
  const of = unit.value;
  if (!of || !hasLevels.value) return [];
  return marked.value.flatMap(({ colour, cell }, k): Curve[] => {
    const frame = columnFrames.value[`profile:${k}`];
    if (!cell || !frame || frame.header.variable !== variable.value?.name || frame.header.shape.length !== 3) return [];
    const shown = convert(frame.values, of, columnFrames.value[`air:profile:${k}`]?.values ?? null);
    return [{ name: `${k + 1}`, colour, points: heights.map((height, level) => [shown[level] ?? NaN, height]) }];
  });
});

export interface Curtain {
  /** Row by row from the ground up, STEPS values each. */
  values: Float32Array;
  /** Edges of the layers [m]. */
  edges: number[];
  /** Length of the line [km]. */
  length: number;
}

export const curtain = computed<Curtain | null>(() => {
  const frame = columnFrames.value["curtain"];
  const { line } = view.value;
  const window = frame?.header.window;
  const of = unit.value;
  if (!frame || !line || !window || !of || !grid.value || frame.header.variable !== variable.value?.name) return null;
  const [levels = 0, rows = 0, columns = 0] = frame.header.shape;
  const shown = convert(frame.values, of, columnFrames.value["air:curtain"]?.values ?? null);
  const values = new Float32Array(levels * STEPS).fill(NaN);
  for (let k = 0; k < STEPS; k++) {
    const cell = cellAt(grid.value, along(line, (k + 0.5) / STEPS));
    if (!cell) continue;
    const [row, column] = [cell.row - window[0], cell.column - window[2]];
    if (row < 0 || row >= rows || column < 0 || column >= columns) continue;
    for (let up = 0; up < levels; up++) values[up * STEPS + k] = shown[(up * rows + row) * columns + column] ?? NaN;
  }
  return { values, edges: layerEdges(levels), length: lengthOf(line) };
});

function lengthOf([a, b]: [Place, Place]): number {
  const [from, to] = [placeOf(a), placeOf(b)];
  return from && to ? distance(from, to) : 0;
}

function along([a, b]: [Place, Place], part: number): Place {
  return [a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part];
}

function layerEdges(levels: number): number[] {
  const coordinate = info.value?.grid.coordinates.find((each) => each.name === "level");
  const found = coordinate?.bounds;
  if (found?.length === levels) return [Math.min(...(found[0] ?? [0])), ...found.map((each) => Math.max(...each))];
  return Array.from({ length: levels + 1 }, (_, k) => k);
}

/** Return the subscriptions of the panel of places. */
export function subscriptions(): Subscription[] {
  const selected = variable.value;
  const map = grid.value;
  if (view.value.panel !== "place" || !selected || !map || !hasLevels.value) return [];
  const of = { session: view.value.session, variable: selected.name, hz: 5 };
  const found: Subscription[] = marked.value.flatMap(({ cell }, k) =>
    cell ? [{ ...of, id: `profile:${k}`, window: [cell.row, cell.row + 1, cell.column, cell.column + 1] }] : [],
  );
  const window = view.value.line && windowOf(map, view.value.line);
  return window ? [...found, { ...of, id: "curtain", window }] : found;
}

function windowOf(map: Grid, line: [Place, Place]): [number, number, number, number] | null {
  const cells = Array.from({ length: STEPS }, (_, k) => cellAt(map, along(line, (k + 0.5) / STEPS))).filter((each) => each !== null);
  if (!cells.length) return null;
  const rows = cells.map((each) => each.row);
  const columns = cells.map((each) => each.column);
  return [Math.min(...rows), Math.max(...rows) + 1, Math.min(...columns), Math.max(...columns) + 1];
}

