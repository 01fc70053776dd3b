// The two wind fields of a model, if it has them.
import { computed } from "@preact/signals";
import type { Variable } from "../protocol/types";
import { variables } from "./store";

const EAST = ["eastward_wind", "wind_east", "u_wind"];
const NORTH = ["northward_wind", "wind_north", "v_wind"];

export interface Winds {
  east: Variable;
  north: Variable;
}

export const winds = computed<Winds | null>(() => {
  const find = (names: string[]) =>
    variables.value.find((each) => names.includes(each.standard_name ?? "") || names.includes(each.name));
  const [east, north] = [find(EAST), find(NORTH)];
  return east && north ? { east, north } : null;
});
