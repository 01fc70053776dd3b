// Positions of the cells of a map: rows from south to north, columns from west to east, evenly spaced.
import type { Coordinate, GridInfo } from "../protocol/types";

export interface Grid {
  rows: number;
  columns: number;
  /** Outer edges of the map [degrees]. */
  west: number;
  east: number;
  south: number;
  north: number;
  /** Whether positions are other coordinates than longitude and latitude. */
  projected?: boolean;
  /** Whether lengths are true in both directions, as on a projected map in metres. */
  flat?: boolean;
}

/** Longitude, latitude and the angle from east to x [degrees] of each cell of a projected map, row by row. */
export interface Places {
  lon: Float32Array;
  lat: Float32Array;
  angle: Float32Array;
}

export interface Cell {
  row: number;
  column: number;
}

/** Position on the map: longitude and latitude, or x and y of a projected map in degrees of arc. */
export type Place = readonly [lon: number, lat: number];

const METRES = 6371000 * Math.PI / 180;

/** Return the factor from coordinates of the server to positions on the map. */
export function unitOf(info: GridInfo): number {
  return info.coordinates.find((each) => each.name === "x")?.unit === "m" ? 1 / METRES : 1;
}

/** Return the map of a model, or null for a model without a map. */
export function gridOf(info: GridInfo): Grid | null {
  const [across, up] = info.kind === "projected" ? ["x", "y"] : ["lon", "lat"];
  const lon = info.coordinates.find((each) => each.name === across);
  const lat = info.coordinates.find((each) => each.name === up);
  if (info.kind === "plain" || !lon || !lat || lon.values.length === 0 || lat.values.length === 0) return null;
  const unit = unitOf(info);
  const [west, east] = edges(lon).map((each) => each * unit) as [number, number];
  const [south, north] = edges(lat).map((each) => each * unit) as [number, number];
  return { rows: info.rows, columns: info.columns, west, east, south, north, ...(info.kind === "projected" && { projected: true, flat: unit !== 1 }) };
}

function edges(along: Coordinate): [number, number] {
  const first = along.values[0] ?? 0;
  const last = along.values.at(-1) ?? 0;
  const bounds = along.bounds;
  if (bounds?.length) return [Math.min(...(bounds[0] ?? [first])), Math.max(...(bounds.at(-1) ?? [last]))];
  const half = along.values.length > 1 ? (last - first) / (along.values.length - 1) / 2 : 0.5;
  return [first - half, last + half];
}

export function cellAt(grid: Grid, [lon, lat]: Place): Cell | null {
  const column = Math.floor(((lon - grid.west) / (grid.east - grid.west)) * grid.columns);
  const row = Math.floor(((lat - grid.south) / (grid.north - grid.south)) * grid.rows);
  return row >= 0 && row < grid.rows && column >= 0 && column < grid.columns ? { row, column } : null;
}

export function centreOf(grid: Grid, { row, column }: Cell): Place {
  return [
    grid.west + ((column + 0.5) / grid.columns) * (grid.east - grid.west),
    grid.south + ((row + 0.5) / grid.rows) * (grid.north - grid.south),
  ];
}

/** Return longitude and latitude of a position, bilinear between the cells of a projected map; null before their places arrive. */
export function lonLatOf(grid: Grid, places: Places | null, at: Place): Place | null {
  if (!grid.projected) return at;
  return places && between(grid, places, at);
}

function between(grid: Grid, places: Places, at: Place): Place {
  const x = ((at[0] - grid.west) / (grid.east - grid.west)) * grid.columns - 0.5;
  const y = ((at[1] - grid.south) / (grid.north - grid.south)) * grid.rows - 0.5;
  const column = Math.min(Math.max(Math.floor(x), 0), Math.max(grid.columns - 2, 0));
  const row = Math.min(Math.max(Math.floor(y), 0), Math.max(grid.rows - 2, 0));
  const first = row * grid.columns + column;
  const corners = [first, first + 1, first + grid.columns, first + grid.columns + 1];
  const [a, b] = [x - column, y - row];
  const shares = [(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b];
  // Directions from the centre of the sphere: longitudes jump at the date line, and have no mean around a pole.
  const sum = [0, 0, 0];
  corners.forEach((each, k) => {
    const point = direction([places.lon[each] ?? places.lon[first]!, places.lat[each] ?? places.lat[first]!]);
    point.forEach((part, axis) => (sum[axis]! += shares[k]! * part));
  });
  const [east, north, up] = sum as [number, number, number];
  return [Math.atan2(north, east) / RADIANS, Math.atan2(up, Math.hypot(east, north)) / RADIANS];
}

const RADIANS = Math.PI / 180;

function direction([lon, lat]: Place): [number, number, number] {
  const [across, up] = [lon * RADIANS, lat * RADIANS];
  return [Math.cos(up) * Math.cos(across), Math.cos(up) * Math.sin(across), Math.sin(up)];
}

/** Return the position on the map of a longitude and latitude: from the nearest cell by steps of Newton's method. */
export function positionOf(grid: Grid, places: Places | null, place: Place): Place | null {
  if (!grid.projected) return place;
  return places && nearest(grid, places, place);
}

function nearest(grid: Grid, places: Places, place: Place): Place {
  const wanted = direction(place);
  const away = (found: readonly number[]) => found.reduce((total, part, axis) => total + (part - wanted[axis]!) ** 2, 0);
  let best = 0;
  let least = Infinity;
  places.lon.forEach((lon, k) => {
    const size = away(direction([lon, places.lat[k]!]));
    if (size < least) [best, least] = [k, size];
  });
  let at = centreOf(grid, { row: Math.floor(best / grid.columns), column: best % grid.columns });
  const [width, height] = [(grid.east - grid.west) / grid.columns, (grid.north - grid.south) / grid.rows];
  for (let step = 0; step < 3; step++) {
    const here = direction(between(grid, places, at));
    const [east, north] = [[at[0] + width / 2, at[1]], [at[0], at[1] + height / 2]].map((next) =>
      direction(between(grid, places, next as unknown as Place)).map((part, axis) => part - here[axis]!));
    const off = wanted.map((part, axis) => part - here[axis]!);
    const dot = (one: number[], other: number[]) => one.reduce((total, part, axis) => total + part * other[axis]!, 0);
    const [xx, xy, yy] = [dot(east!, east!), dot(east!, north!), dot(north!, north!)];
    const determinant = xx * yy - xy * xy;
    if (!(determinant > 0)) break;
    const [x, y] = [dot(off, east!), dot(off, north!)];
    at = [at[0] + (((yy * x - xy * y) / determinant) * width) / 2, at[1] + (((xx * y - xy * x) / determinant) * height) / 2];
  }
  return at;
}

export function valueAt(values: Float32Array, grid: Grid, cell: Cell): number {
  return values[cell.row * grid.columns + cell.column] ?? NaN;
}

export function placeText([lon, lat]: Place): string {
  const turn = ((((lon + 180) % 360) + 360) % 360) - 180;
  return `${Math.abs(lat).toFixed(2)}° ${lat < 0 ? "S" : "N"}, ${Math.abs(turn).toFixed(2)}° ${turn < 0 ? "W" : "E"}`;
}
