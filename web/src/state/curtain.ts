// The cross-section along the line: values, heights, the boundary layer, and cities near the line.
import { computed } from "@preact/signals";
import { citiesAlong, type CityOnLine } from "../maths/cities";
import { distance } from "../maths/sphere";
import { along, sampled, STEPS } from "../maths/section";
import { convert } from "../maths/units";
import { airFrom } from "./companions";
import { positionName } from "./place_names";
import { columnFrames } from "./places";
import { unit } from "./scale";
import { geography, grid, info, placeOf, variable } from "./store";
import { view } from "./view";

/** Share of the length of the line, and the least distance [km], within which a city is near it. */
const NEAR = { share: 0.03, least: 12 };

export interface Curtain {
  /** Level by level from the ground up, STEPS values each. */
  values: Float32Array;
  /** Edges of the layers [m]. */
  edges: number[];
  /** Length of the line [km]. */
  length: number;
  /** Height of the boundary layer at the samples [m]; null where it is not known at the displayed time. */
  ceiling: Float32Array | null;
  cities: CityOnLine[];
  /** Both ends in words. */
  ends: [string, string];
}

export const curtain = computed<Curtain | null>(() => {
  const frame = columnFrames.value["curtain"];
  const { line } = view.value;
  const [map, of] = [grid.value, unit.value];
  if (!frame?.header.window || !line || !of || !map || frame.header.variable !== variable.value?.name) return null;
  const shown = convert(frame.values, of, airFrom((each) => columnFrames.value[`air:${each.name}:curtain`]?.values));
  const top = columnFrames.value["top:curtain"];
  const [from, to] = [placeOf(line[0]), placeOf(line[1])];
  const length = from && to ? distance(from, to) : 0;
  const cities = geography.value?.cities ?? [];
  return {
    values: sampled(shown, frame.header.shape, frame.header.window, map, line), edges: layerEdges(frame.header.shape[0] ?? 0), length,
    ceiling: top?.header.window ? sampled(top.values, top.header.shape, top.header.window, map, line) : null,
    cities: from && to ? citiesAlong(from, to, cities, Math.max(NEAR.share * length, NEAR.least)) : [],
    ends: [positionName(line[0]), positionName(line[1])],
  };
});

/** Return the place of a part of the line in words. */
export function nameAlong(part: number): string {
  const { line } = view.value;
  return line ? positionName(along(line, part)) : "";
}

/** Return the value at a part of the line and a height [m]; NaN outside. */
export function valueIn(of: Curtain, part: number, height: number): number {
  const level = levelAt(of, height);
  const k = Math.min(Math.max(Math.floor(part * STEPS), 0), STEPS - 1);
  return level < 0 ? NaN : (of.values[level * STEPS + k] ?? NaN);
}

/** Return the layer that contains a height [m], -1 outside. */
export const levelAt = (of: Curtain, height: number): number => of.edges.findLastIndex((edge, k) => edge <= height && height <= (of.edges[k + 1] ?? -1));

function layerEdges(levels: number): number[] {
  const coordinate = info.value?.grid.coordinates.find((each) => each.name === "level");
  const found = coordinate?.bounds;
  if (found?.length === levels) return [Math.min(...(found[0] ?? [0])), ...found.map((each) => Math.max(...each))];
  return Array.from({ length: levels + 1 }, (_, k) => k);
}
