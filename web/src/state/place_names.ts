// Names of places: the nearest city, with distance and direction.
import { number } from "../maths/format";
import { placeText, type Place } from "../maths/grid";
import { direction, distance } from "../maths/sphere";
import type { City } from "../protocol/types";
import { geography, placeOf } from "./store";

/** Distances within which a place is the city itself, and beyond which a city is no help [km]. */
const WITHIN = 5;
const FAR = 600;

/** Return the nearest city, with its distance [km]; null without cities. */
export function nearestCity(cities: readonly City[], at: Place): { city: City; away: number } | null {
  let found: { city: City; away: number } | null = null;
  for (const city of cities) {
    const away = distance([city.lon, city.lat], at);
    if (!found || away < found.away) found = { city, away };
  }
  return found;
}

/** Return the name of a longitude and latitude: "Cologne", "12 km NE of Cologne", or its coordinates far from all cities. */
export function nameNear(cities: readonly City[], at: Place): string {
  const nearest = nearestCity(cities, at);
  if (!nearest || nearest.away > FAR) return placeText(at);
  const { city, away } = nearest;
  if (away < WITHIN) return city.name;
  return `${number(away, 2)} km ${direction([city.lon, city.lat], at)} of ${city.name}`;
}

/** Return the name of a longitude and latitude on the displayed map. */
export const placeName = (at: Place): string => nameNear(geography.value?.cities ?? [], at);

/** Return the name of a position on the map; empty before the places of a projected map arrive. */
export function positionName(at: Place): string {
  const place = placeOf(at);
  return place ? placeName(place) : "";
}
