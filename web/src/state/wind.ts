// The wind of a model, if it has one: its two fields, and the speed that its key shows.
import { computed, signal } from "@preact/signals";
import type { Variable } from "../protocol/types";
import { variables } from "./store";
import { view, type Wind } from "./view";

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

const still = matchMedia("(prefers-reduced-motion: reduce)");
const isStill = signal(still.matches);
still.addEventListener("change", () => (isStill.value = still.matches));

/** How the wind is drawn: arrows instead of particles for readers who prefer reduced motion. */
export const drawnWind = computed<Wind>(() => (view.value.wind === "particles" && isStill.value ? "arrows" : view.value.wind));

const SPEEDS = [1, 2, 3, 4, 5, 8, 10, 15, 20, 30, 40, 50, 80, 100];

/** Return the round speed [m/s] of the reference arrow for the strongest wind. */
export const referenceSpeed = (strongest: number): number => SPEEDS.find((each) => each >= 0.8 * strongest) ?? 100;

export function strongestOf({ east, north }: { east: Float32Array; north: Float32Array }): number {
  let most = 0;
  east.forEach((each, k) => {
    const speed = Math.hypot(each, north[k] ?? 0);
    if (speed > most) most = speed;
  });
  return most;
}
