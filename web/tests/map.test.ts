// Frames of the protocol, the camera, and lines of equal value.
import { describe, expect, it, test } from "vitest";
import { boxOf, fit, panned, toPixel, toPlace, zoomed } from "../src/map/camera";
import { contoursOf } from "../src/map/contours";
import { visiblePart } from "../src/map/painting";
import { windAt, type WindField } from "../src/map/wind_field";
import type { Grid } from "../src/maths/grid";
import { decodeFrames } from "../src/protocol/frames";
import { encoded, header } from "./samples";

describe("frames", () => {
  it("hold single precision as it was sent", () => {
    const values = Float32Array.of(1.5, NaN);
    const [found] = decodeFrames(encoded(header(), new Uint8Array(values.buffer)).buffer as ArrayBuffer);
    expect([...found!.values]).toEqual([1.5, NaN]);
    expect(found!.header.variable).toBe("O3");
  });

  it("of bytes span the range, with a code for missing values", () => {
    const bytes = encoded(header({ dtype: "|u1", shape: [2, 2], range: [10, 264] } as never), Uint8Array.of(0, 127, 254, 255));
    expect([...decodeFrames(bytes.buffer as ArrayBuffer)[0]!.values]).toEqual([10, 137, 264, NaN]);
  });

  it("follow each other in one message, at multiples of eight bytes", () => {
    const one = encoded(header({ dtype: "|u1", shape: [1, 3], range: [0, 254] } as never), Uint8Array.of(1, 2, 3));
    const both = new Uint8Array([...one, ...one]);
    expect(decodeFrames(both.buffer).map((each) => [...each.values])).toEqual([[1, 2, 3], [1, 2, 3]]);
    expect(decodeFrames(new ArrayBuffer(0))).toEqual([]);
  });

  it("are refused where the bytes are none, or compressed", () => {
    const bytes = encoded(header(), new Uint8Array(8));
    bytes[0] = 0;
    expect(() => decodeFrames(bytes.buffer as ArrayBuffer)).toThrow("no frame starts at byte 0");
    const packed = encoded(header({ compression: "zlib" } as never), new Uint8Array(8));
    expect(() => decodeFrames(packed.buffer as ArrayBuffer)).toThrow("compressed with zlib");
  });
});

const BOX = { west: 0, east: 10, south: 45, north: 55 };

describe("camera", () => {
  const camera = fit(BOX, 800, 600, 20);

  it("shows the whole box with its margin", () => {
    const shown = boxOf(camera);
    expect(shown.west).toBeLessThan(0);
    expect(shown.east).toBeGreaterThan(10);
    expect(toPixel(camera, [5, 55])[1]).toBeCloseTo(20, 9);
    expect(toPixel(camera, [5, 45])[1]).toBeCloseTo(580, 9);
  });

  it("fills the width of a map that is narrow", () => {
    const narrow = fit(BOX, 300, 900, 30);
    expect(toPixel(narrow, [0, 50])[0]).toBeCloseTo(30, 9);
    expect(toPixel(narrow, [10, 50])[0]).toBeCloseTo(270, 9);
    expect(toPixel(narrow, [5, 55])[1]).toBeGreaterThan(30);
  });

  test.each([[0, 0], [400, 300], [799, 13]])("turns pixel %d, %d into a place and back", (x, y) => {
    const [across, down] = toPixel(camera, toPlace(camera, x, y));
    expect(across).toBeCloseTo(x, 9);
    expect(down).toBeCloseTo(y, 9);
  });

  it("keeps proportions in the middle: a degree of longitude is shorter by the cosine of the latitude", () => {
    const [x0, y0] = toPixel(camera, [5, 50]);
    const [x1] = toPixel(camera, [6, 50]);
    const [, y1] = toPixel(camera, [5, 51]);
    expect((x1 - x0) / (y0 - y1)).toBeCloseTo(Math.cos((50 * Math.PI) / 180), 9);
  });

  it("zooms about the place under the pointer, within limits", () => {
    const before = toPlace(camera, 100, 200);
    const nearer = zoomed(camera, 2, 100, 200);
    expect(nearer.scale).toBe(2 * camera.scale);
    expect(toPlace(nearer, 100, 200)[0]).toBeCloseTo(before[0], 9);
    expect(toPlace(nearer, 100, 200)[1]).toBeCloseTo(before[1], 9);
    expect(zoomed(camera, 1e9, 0, 0).scale).toBe(5000);
    expect(zoomed(camera, 1e-9, 0, 0).scale).toBe(1);
  });

  it("moves with the pointer, and not beyond the poles", () => {
    expect(toPlace(panned(camera, 30, 0), 430, 300)[0]).toBeCloseTo(5, 9);
    expect(toPlace(panned(camera, 0, -40), 400, 260)[1]).toBeCloseTo(50, 9);
    expect(panned(camera, 0, 1e9).lat).toBe(85);
    expect(panned(camera, 0, -1e9).lat).toBe(-85);
  });
});

describe("contours", () => {
  const grid: Grid = { rows: 8, columns: 8, west: 0, east: 8, south: 0, north: 8 };
  const camera = fit({ west: 0, east: 8, south: 0, north: 8 }, 800, 800, 0);
  const slope = Float32Array.from({ length: 64 }, (_, k) => k % 8);
  const lines = (values: Float32Array) => contoursOf(values, grid, [1, 2, 3, 4, 5, 6, 7, 8].map((value) => ({ value, text: String(value), limit: false })), camera);

  it("lie where the values of a slope are equal", () => {
    const found = lines(slope);
    expect(found.map((each) => each.level.value)).toEqual([1, 2, 3, 4, 5, 6]);
    for (const { level: { value }, path } of found)
      for (const [x, y] of path) expect(toPlace(camera, x, y)[0]).toBeCloseTo(value + 0.5, 6); // centres are at halves
  });

  it("do not run along the edge of the map, nor along cells without a value", () => {
    expect(lines(new Float32Array(64).fill(5))).toEqual([]);
    const island = Float32Array.from({ length: 64 }, (_, k) => (k % 8 > 1 && k % 8 < 6 && k > 15 && k < 48 ? 5 : NaN));
    expect(lines(island)).toEqual([]);
  });
});

describe("wind", () => {
  it("is linear between cells, and null outside or next to a missing value", () => {
    const grid: Grid = { rows: 2, columns: 3, west: 0, east: 3, south: 0, north: 2 };
    const field: WindField = { grid, east: Float32Array.of(3, 5, NaN, 3, 5, NaN), north: new Float32Array(6).fill(-4) };
    expect(windAt(field, [0.5, 0.5])).toEqual([3, -4]);
    expect(windAt(field, [1, 1.2])).toEqual([4, -4]);
    expect(windAt(field, [2.2, 0.5])).toBeNull();
    expect(windAt(field, [5, 0.5])).toBeNull();
  });

  it("belongs to each cell up to the edges of the map", () => {
    const grid: Grid = { rows: 3, columns: 2, west: 5, east: 7, south: 40, north: 43 };
    const field: WindField = { grid, east: Float32Array.of(0, 1, 2, 3, 4, 5), north: Float32Array.of(0, 0, 10, 10, 30, 30) };
    expect(windAt(field, [5.5, 42.5])).toEqual([4, 30]);
    expect(windAt(field, [6.25, 42])).toEqual([3.75, 20]);
    for (const [corner, east] of [[[5, 40], 0], [[7, 40], 1], [[5, 43], 4], [[7, 43], 5]] as const) {
      expect(windAt(field, corner)?.[0]).toBe(east);
    }
    for (const place of [[4.99, 41], [7.01, 41], [6, 39.99], [6, 43.01]] as const) expect(windAt(field, place)).toBeNull();
  });
});

describe("the canvas of the field", () => {
  const grid: Grid = { rows: 2, columns: 2, west: 0, east: 10, south: 45, north: 55 };
  const room = { width: 1000, height: 800 };

  it("covers the field, and no more of the window", () => {
    const camera = { ...fit(grid, 1000, 800, 20) };
    const part = visiblePart(grid, camera, room)!;
    expect([part.top, part.height]).toEqual([20, 761]);
    expect(part.width).toBeLessThan(500);
    const box = boxOf(camera, part);
    expect(box.west).toBeLessThanOrEqual(0);
    expect(box.east).toBeGreaterThanOrEqual(10);
    expect(box.east).toBeLessThan(10.1);
  });

  it("ends at the window where the field is larger, and has the size of the field while it is moved", () => {
    const near = { lon: 5, lat: 50, scale: 500, ...room };
    expect(visiblePart(grid, near, room)).toEqual({ left: 0, top: 0, ...room });
    const camera = fit(grid, 1000, 800, 100);
    const sizes = [0, 0.3, 0.6].map((dx) => visiblePart(grid, panned(camera, dx, dx), room)!).map(({ width, height }) => [width, height].join());
    expect(new Set(sizes.map((each) => each)).size).toBeLessThanOrEqual(2);
  });

  it("is not there where the field is outside", () => {
    expect(visiblePart(grid, { lon: 60, lat: 50, scale: 80, ...room }, room)).toBeNull();
  });
});
