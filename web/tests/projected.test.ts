// Maps on a projection: positions, longitude and latitude, wind, and the proportions of the camera.
import { describe, expect, it, test } from "vitest";
import { fit, panned, toPixel } from "../src/map/camera";
import { turned } from "../src/map/wind_field";
import { centreOf, gridOf, lonLatOf, positionOf, unitOf, type Place, type Places } from "../src/maths/grid";
import { hasMap } from "../src/state/store";
import { field, gridInfo } from "./samples";

const DEGREE = (6371000 * Math.PI) / 180;
const RADIANS = Math.PI / 180;
const SIDE = 21;
const AXIS = Array.from({ length: SIDE }, (_, k) => (k - 10) * 100e3);
const INFO = {
  ...gridInfo([], []), kind: "projected", rows: SIDE, columns: SIDE,
  coordinates: ["x", "y"].map((name) => ({ name, values: AXIS, bounds: null, unit: "m" })),
} as never;
const GRID = gridOf(INFO)!;

/** Longitude and latitude on the polar stereographic projection, true at the pole, with 0 degrees downwards. */
function inverse(x: number, y: number): Place {
  return [Math.atan2(x, -y) / RADIANS, 90 - (2 * Math.atan(Math.hypot(x, y) / (2 * 6371000))) / RADIANS];
}

const cells = AXIS.flatMap((y) => AXIS.map((x) => inverse(x, y)));
const PLACES: Places = {
  lon: Float32Array.from(cells, (each) => each[0]), lat: Float32Array.from(cells, (each) => each[1]),
  angle: Float32Array.from(cells, (each) => -each[0]),
};

describe("a projected map", () => {
  it("has degrees of arc as positions, and true proportions", () => {
    expect(unitOf(INFO)).toBeCloseTo(1 / DEGREE, 12);
    expect(GRID.flat).toBe(true);
    expect(GRID.east * DEGREE).toBeCloseTo(1050e3, 3);
    const camera = fit(GRID, 800, 600, 20);
    const [a, b] = [toPixel(camera, [0, 0]), toPixel(camera, [1, 1])];
    expect(b[0] - a[0]).toBeCloseTo(a[1] - b[1], 9);
    expect(panned({ ...camera, lat: 84 }, 0, 1000).lat).toBeGreaterThan(85);
  });

  it("keeps the degrees of a rotated pole", () => {
    const turnedPole = { ...(INFO as object), coordinates: ["x", "y"].map((name) => ({ name, values: [0, 1], bounds: null, unit: "degrees" })) };
    expect(gridOf(turnedPole as never)).toEqual({ rows: SIDE, columns: SIDE, west: -0.5, east: 1.5, south: -0.5, north: 1.5, projected: true, flat: false });
  });

  test.each([[3e5, -2e5], [-7.3e5, 4.4e5], [2e4, 3e4]])("finds longitude and latitude of %d, %d m, and the way back", (x, y) => {
    const at: Place = [x / DEGREE, y / DEGREE];
    const [lon, lat] = lonLatOf(GRID, PLACES, at)!;
    const exact = inverse(x, y);
    expect(lat).toBeCloseTo(exact[1], 1);
    expect(Math.abs(lon - exact[0]) * Math.cos(lat * RADIANS)).toBeLessThan(0.02);
    const back = positionOf(GRID, PLACES, [lon, lat])!;
    expect(Math.hypot(back[0] - at[0], back[1] - at[1])).toBeLessThan(1e-3);
  });

  it("has the longitude and latitude of a cell at its centre", () => {
    const [lon, lat] = lonLatOf(GRID, PLACES, centreOf(GRID, { row: 3, column: 17 }))!;
    expect(lon).toBeCloseTo(PLACES.lon[3 * SIDE + 17]!, 4);
    expect(lat).toBeCloseTo(PLACES.lat[3 * SIDE + 17]!, 4);
  });

  it("leaves places on longitude and latitude unchanged, and has none before those of its cells arrive", () => {
    const plain = { ...GRID, projected: false };
    expect(lonLatOf(plain, null, [5, 50])).toEqual([5, 50]);
    expect(positionOf(plain, null, [5, 50])).toEqual([5, 50]);
    expect(lonLatOf(GRID, null, [5, 50])).toBeNull();
    expect(positionOf(GRID, null, [5, 50])).toBeNull();
  });

  it("turns a wind from the north towards the pole's meridian", () => {
    const [right, up] = turned(Float32Array.of(0, 0), Float32Array.of(-5, -5), { ...PLACES, angle: Float32Array.of(0, 90) });
    [...right].forEach((each, k) => expect(each).toBeCloseTo([0, -5][k]!, 6));
    [...up].forEach((each, k) => expect(each).toBeCloseTo([-5, 0][k]!, 6));
  });

  it("shows fields on y and x", () => {
    expect(hasMap(field("O3", { dims: ["level", "y", "x"] }))).toBe(true);
    expect(hasMap(field("O3", { dims: ["cell"] }))).toBe(false);
  });
});
