// Search for a place or a field by its name.
import type { Place } from "../maths/grid";
import type { City, Variable } from "../protocol/types";
import { rememberField } from "./favourites";
import { fieldText, folded, found } from "./fields";
import { mapEdges } from "./layout";
import { geography, grid, info, variables } from "./store";
import { positionOf } from "../maths/grid";
import { look, view } from "./view";

export interface Destination {
  id: string;
  kind: "place" | "field";
  text: string;
  go(): void;
}

const MOST_EACH = 5;
const MOST_PLACES = 6;
/** Pixels per degree of a map around a city. */
const CLOSE = 90;

/** Return the cities whose name begins with a text, then the names that contain it; the largest first. */
export function citiesNamed(cities: readonly City[], text: string): City[] {
  const search = folded(text.trim());
  if (!search) return [];
  const names = (each: City) => [folded(each.name), folded(each.also ?? "")];
  const starts = cities.filter((each) => names(each).some((name) => name.startsWith(search)));
  const contain = cities.filter((each) => !starts.includes(each) && names(each).some((name) => name.includes(search)));
  return [...starts, ...contain];
}

/** Return the longitude and latitude that a text has, such as "50.9, 6.9" with the latitude first; null for other texts. */
export function coordinatesOf(text: string): Place | null {
  const match = /^\s*(-?\d+(?:\.\d+)?)\s*[°]?\s*[,; ]\s*(-?\d+(?:\.\d+)?)\s*[°]?\s*$/.exec(text);
  const [lat, lon] = [Number(match?.[1]), Number(match?.[2])];
  return match && Math.abs(lat) <= 90 && Math.abs(lon) <= 360 ? [lon, lat] : null;
}

/** Return the places and fields that a text names. */
export function destinations(text: string): Destination[] {
  const search = text.replace(/^\s*go to\s+/i, "");
  const cities = citiesNamed(geography.value?.cities ?? [], search).slice(0, MOST_EACH);
  const fields = search.trim() ? found(variables.value, search).slice(0, MOST_EACH) : [];
  const point = coordinatesOf(search);
  return [
    ...both(search),
    ...(point ? [{ id: "goto-point", kind: "place" as const, text: `${point[1]}° N, ${point[0]}° E`, go: () => goTo(point) }] : []),
    ...cities.map((each, k) => ({ id: `goto-city-${k}`, kind: "place" as const, text: each.name, go: () => visit([each.x, each.y]) })),
    ...fields.map((each, k) => ({ id: `goto-field-${k}`, kind: "field" as const, text: fieldText(each), go: () => chooseField(each) })),
  ];
}

/** Return the field in a place that a text such as "ozone in Paris" names; empty for other texts. */
function both(text: string): Destination[] {
  const [what = "", where = ""] = text.split(/\s+(?:in|at|near)\s+/i);
  const [city] = citiesNamed(geography.value?.cities ?? [], where);
  const [field] = what.trim() ? found(variables.value, what) : [];
  if (!city || !field) return [];
  const go = () => {
    chooseField(field);
    visit([city.x, city.y]);
  };
  return [{ id: "goto-both", kind: "place", text: `${fieldText(field)} in ${city.name}`, go }];
}

function goTo(place: Place): void {
  const at = grid.value && positionOf(grid.value, geography.value?.places ?? null, place);
  if (at) visit(at);
}

/** Centre the map on a position, mark it, and open its series. */
function visit([x, y]: Place): void {
  const at: Place = [round(x), round(y)];
  const others = view.value.places.filter((each) => each[0] !== at[0] || each[1] !== at[1]);
  look({ places: [...others, at].slice(-MOST_PLACES), panel: "place" });
  requestAnimationFrame(() => requestAnimationFrame(() => centre(at))); // the dock may open
}

/** Move the map so that a position is near the middle of its free part, which has as much of the domain as possible. */
function centre([x, y]: Place): void {
  const map = grid.value;
  if (!map) return;
  const scale = Math.max(view.value.camera?.[2] ?? CLOSE, CLOSE);
  const { top, right, bottom } = mapEdges.value;
  const across = map.flat ? scale : scale * Math.cos((y * Math.PI) / 180);
  const [lon, lat] = [inside(x, map.west, map.east, (innerWidth - right) / across), inside(y, map.south, map.north, (innerHeight - top - bottom) / scale)];
  look({ camera: [round(lon + right / 2 / across), round(lat - (bottom - top) / 2 / scale), scale] });
}

/** Return the middle of a window of a length that is nearest to a position and within a range; that of the range if it is shorter. */
export const inside = (at: number, low: number, high: number, length: number): number =>
  length >= high - low ? (low + high) / 2 : Math.min(Math.max(at, low + length / 2), high - length / 2);

const round = (degrees: number): number => Math.round(degrees * 1e4) / 1e4;

/** Display a field, and choose it again when the page returns to its model. */
export function chooseField(each: Variable): void {
  if (info.value) rememberField(info.value.state.model, each.name);
  look({ variable: each.name, unit: null, range: null, log: null, colours: null });
}
