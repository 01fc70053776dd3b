// Cities along a line.
import type { City } from "../protocol/types";
import type { Place } from "./grid";

const EARTH = 6371; // km, mean radius
const TURN = Math.PI / 180;

export interface CityOnLine {
  name: string;
  /** Position along the line, from 0 to 1. */
  part: number;
}

/** Return the largest cities within some distance [km] of the great circle between two places, apart from each other. */
export function citiesAlong(from: Place, to: Place, cities: readonly City[], within: number, most = 4): CityOnLine[] {
  const found: CityOnLine[] = [];
  for (const city of cities) {
    const part = nearestPart(from, to, [city.lon, city.lat], within);
    if (part === null || found.some((other) => Math.abs(other.part - part) < 1 / (most + 1))) continue;
    found.push({ name: city.name, part });
    if (found.length === most) break;
  }
  return found.sort((one, other) => one.part - other.part);
}

/** Return the part of a line nearest to a place, on a plane around the place; null beyond its ends and a distance [km]. */
function nearestPart(from: Place, to: Place, place: Place, within: number): number | null {
  const squeeze = Math.cos(place[1] * TURN);
  const flat = (each: Place): [number, number] => [(each[0] - place[0]) * squeeze * TURN * EARTH, (each[1] - place[1]) * TURN * EARTH];
  const [a, b] = [flat(from), flat(to)];
  const along: [number, number] = [b[0] - a[0], b[1] - a[1]];
  const length = along[0] ** 2 + along[1] ** 2;
  if (!(length > 0)) return null;
  const part = -(a[0] * along[0] + a[1] * along[1]) / length;
  if (part < 0 || part > 1) return null;
  const away = Math.hypot(a[0] + part * along[0], a[1] + part * along[1]);
  return away <= within ? part : null;
}
