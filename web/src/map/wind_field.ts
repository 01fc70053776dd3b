// Wind between cells, interpolated from its two fields.
import type { Grid, Place, Places } from "../maths/grid";

export interface WindField {
  grid: Grid;
  /** [m/s] to the right and upwards on the map, row by row. */
  east: Float32Array;
  north: Float32Array;
}

/** Return the wind along the axes of a projected map, from its components towards the east and the north. */
export function turned(east: Float32Array, north: Float32Array, places: Places): [Float32Array, Float32Array] {
  const radians = Math.PI / 180;
  const along = (k: number, one: Float32Array, other: Float32Array, sign: number) =>
    (one[k] ?? NaN) * Math.cos((places.angle[k] ?? 0) * radians) + sign * (other[k] ?? NaN) * Math.sin((places.angle[k] ?? 0) * radians);
  return [east.map((_, k) => along(k, east, north, 1)), north.map((_, k) => along(k, north, east, -1))];
}

/** Return the wind at a place [m/s] by bilinear interpolation; null outside the map. */
export function windAt({ grid, east, north }: WindField, [lon, lat]: Place): [number, number] | null {
  const x = ((lon - grid.west) / (grid.east - grid.west)) * grid.columns - 0.5;
  const y = ((lat - grid.south) / (grid.north - grid.south)) * grid.rows - 0.5;
  if (x < -0.5 || y < -0.5 || x > grid.columns - 0.5 || y > grid.rows - 0.5) return null;
  const column = Math.min(Math.max(Math.floor(x), 0), Math.max(grid.columns - 2, 0));
  const row = Math.min(Math.max(Math.floor(y), 0), Math.max(grid.rows - 2, 0));
  const [a, b] = [Math.min(Math.max(x - column, 0), 1), Math.min(Math.max(y - row, 0), 1)];
  const mixed = (values: Float32Array) => {
    const at = row * grid.columns + column;
    const low = (values[at] ?? NaN) * (1 - a) + (values[at + 1] ?? NaN) * a;
    const high = (values[at + grid.columns] ?? NaN) * (1 - a) + (values[at + grid.columns + 1] ?? NaN) * a;
    return low * (1 - b) + high * b;
  };
  const wind: [number, number] = [mixed(east), mixed(north)];
  return Number.isNaN(wind[0] + wind[1]) ? null : wind;
}
