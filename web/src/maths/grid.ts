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
}

export interface Cell {
  row: number;
  column: number;
}

export type Place = readonly [lon: number, lat: number];

/** Return the map of a model, or null for a model without a map. */
export function gridOf(info: GridInfo): Grid | null {
  const lon = info.coordinates.find((each) => each.name === "lon");
  const lat = info.coordinates.find((each) => each.name === "lat");
  if (info.kind === "plain" || !lon || !lat || lon.values.length === 0 || lat.values.length === 0) return null;
  const [west, east] = edges(lon);
  const [south, north] = edges(lat);
  return { rows: info.rows, columns: info.columns, west, east, south, north };
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

export function valueAt(values: Float32Array, grid: Grid, cell: Cell): number {
  return values[cell.row * grid.columns + cell.column] ?? NaN;
}

export function placeText([lon, lat]: Place): string {
  const turn = ((((lon + 180) % 360) + 360) % 360) - 180;
  return `${Math.abs(lat).toFixed(2)}° ${lat < 0 ? "S" : "N"}, ${Math.abs(turn).toFixed(2)}° ${turn < 0 ? "W" : "E"}`;
}
