// Distances and directions on the globe.
import type { Place } from "./grid";

const EARTH = 6371; // km, mean radius
const TURN = Math.PI / 180;
const WINDS = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"];

/** Return the great-circle distance of two places (longitude, latitude) [km]. */
export function distance(a: Place, b: Place): number {
  const half = (from: number, to: number) => Math.sin(((to - from) * TURN) / 2) ** 2;
  const part = half(a[1], b[1]) + Math.cos(a[1] * TURN) * Math.cos(b[1] * TURN) * half(a[0], b[0]);
  return 2 * EARTH * Math.asin(Math.sqrt(Math.min(part, 1)));
}

/** Return the direction in which one place sees another, as a point of the compass: "NE". */
export function direction(from: Place, to: Place): string {
  const east = (to[0] - from[0]) * TURN;
  const [low, high] = [from[1] * TURN, to[1] * TURN];
  const across = Math.sin(east) * Math.cos(high);
  const up = Math.cos(low) * Math.sin(high) - Math.sin(low) * Math.cos(high) * Math.cos(east);
  const eighth = Math.round(Math.atan2(across, up) / (45 * TURN));
  return WINDS[(eighth + 8) % 8] ?? "";
}
