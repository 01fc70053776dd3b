// Arrows, labels, lines and charts, checked by their calls on a canvas.
import { describe, expect, it, test } from "vitest";
import { bounds } from "../src/charts/Chart";
import { drawArrows } from "../src/map/arrows";
import { fit, toPlace } from "../src/map/camera";
import { drawContours } from "../src/map/contours";
import { drawCities, drawLines, overlap } from "../src/map/lines";
import type { WindField } from "../src/map/wind_field";
import type { Grid } from "../src/maths/grid";
import { Pen } from "./samples";

const INK = { line: "line", halo: "halo", text: "text", accent: "accent" };

describe("arrows", () => {
  const grid: Grid = { rows: 2, columns: 2, west: 0, east: 2, south: -1, north: 1 };
  const camera = fit({ west: 0, east: 2, south: -1, north: 1 }, 136, 136, 0); // four arrows across

  /** Return the arrows of a wind as begin and end, without their heads. */
  function arrows(east: number[], north: number[]): number[][] {
    const pen = new Pen();
    const field: WindField = { grid, east: Float32Array.from(east), north: Float32Array.from(north) };
    drawArrows(pen.context, field, camera, INK);
    const [begins, ends] = [pen.of("moveTo"), pen.of("lineTo")];
    const half = ends.length / 2; // once for the halo, once for the line
    expect(begins.slice(half)).toEqual(begins.slice(0, half));
    return Array.from({ length: half / 3 }, (_, k) => [...begins[3 * k]!, ...ends[3 * k]!]);
  }

  it("have a distance of 34 pixels, and a greatest length of 28 pixels", () => {
    const found = arrows([5, 5, 5, 5], [0, 0, 0, 0]);
    expect(found.length).toBe(16);
    expect(found[0]).toEqual([3, 17, 31, 17]);
    expect(found[5]).toEqual([37, 51, 65, 51]);
  });

  it("point where the wind blows to: up for a wind from the south", () => {
    expect(arrows([0, 0, 0, 0], [3, 3, 3, 3])[0]).toEqual([17, 31, 17, 3]);
    expect(arrows([-3, -3, -3, -3], [0, 0, 0, 0])[0]).toEqual([31, 17, 3, 17]);
  });

  it("are as long as the wind is strong, and none where it is calm", () => {
    const lengths = arrows([0, 4, 0, 4], [0, 0, 0, 0]).map(([x0, , x1]) => x1! - x0!);
    expect(lengths).toEqual([...Array(4).fill(7), ...Array(4).fill(21), ...Array(4).fill(28)]); // the westernmost column is calm
    expect(arrows([0, 0, 0, 0], [0, 0, 0, 0])).toEqual([]);
  });

  it("have a head of two strokes back from the tip, a third as long, at most six pixels", () => {
    const heads = (wind: number[], north = [0, 0, 0, 0]) => {
      const pen = new Pen();
      drawArrows(pen.context, { grid, east: Float32Array.from(wind), north: Float32Array.from(north) }, camera, INK);
      const ends = pen.of("lineTo");
      return ends.slice(0, 3).map(([x, y]) => [x! - ends[0]![0]!, y! - ends[0]![1]!]);
    };
    const [, above, below] = heads([5, 5, 5, 5]);
    expect(above![0]).toBeCloseTo(6 * Math.cos(2.6), 9);
    expect(above![1]).toBeCloseTo(6 * Math.sin(2.6), 9);
    expect(below).toEqual([above![0], -above![1]!]);
    const strokes = heads([0, 0, 0, 0], [5, 5, 5, 5]).slice(1); // a wind from the south
    expect(strokes.map(([x, y]) => [x, y].map((each) => Number(each!.toFixed(6))))).toEqual([
      [Number((6 * Math.sin(2.6)).toFixed(6)), Number((-6 * Math.cos(2.6)).toFixed(6))],
      [Number((-6 * Math.sin(2.6)).toFixed(6)), Number((-6 * Math.cos(2.6)).toFixed(6))],
    ]);
    expect(heads([2, 4, 2, 4])[1]![0]).toBeCloseTo(14 * 0.35 * Math.cos(2.6), 9);
  });

  it("are left out next to a missing value, which does not count as the strongest", () => {
    expect(arrows([NaN, 5, 5, 5], [0, 0, 0, 0])).toEqual([]);
  });

  it("are drawn on maps of very many cells", () => {
    const count = 400;
    const field = { grid: { ...grid, rows: count, columns: count }, east: new Float32Array(count ** 2).fill(2), north: new Float32Array(count ** 2) };
    const pen = new Pen();
    drawArrows(pen.context, field, camera, INK);
    expect(pen.of("moveTo")[0]).toEqual([3, 17]);
  });
});

describe("labels of contours", () => {
  const grid: Grid = { rows: 40, columns: 40, west: 0, east: 8, south: -4, north: 4 };
  const camera = fit({ west: 0, east: 8, south: -4, north: 4 }, 800, 800, 0);
  const hill = Float32Array.from({ length: 1600 }, (_, k) => 100 - Math.hypot((k % 40) - 19.5, Math.floor(k / 40) - 19.5) * 5);
  const pen = new Pen();
  drawContours(pen.context, hill, grid, { low: 20, high: 100, log: false }, camera, INK);
  const labels = pen.calls.filter((each) => each[0] === "fillText").map(([, text, x, y]) => [text, x, y] as [string, number, number]);

  it("are on the lines of their values", () => {
    expect(labels.length).toBeGreaterThan(3);
    for (const [text, x, y] of labels) {
      const [lon, lat] = toPlace(camera, x, y);
      expect(Math.abs(100 - Math.hypot(lon - 4, lat) * 25 - Number(text))).toBeLessThan(0.5);
    }
  });

  it("are of different values and clear of each other", () => {
    expect(new Set(labels.map((each) => each[0])).size).toBe(labels.length);
    const boxes = labels.map(([text, x, y]) => [x - 3 * text.length - 4, y - 10, x + 3 * text.length + 4, y + 10]);
    for (const [k, one] of boxes.entries()) for (const other of boxes.slice(k + 1)) expect(overlap(one, other)).toBe(false);
  });

  it("are none where they would leave the screen", () => {
    const shifted = (x: number, y: number) => {
      const seen = new Pen();
      const moved = { ...camera, lon: camera.lon - x / 100, lat: camera.lat + y / 100 };
      drawContours(seen.context, hill, grid, { low: 85, high: 95, log: false }, moved, INK);
      return seen.of("fillText");
    };
    expect(shifted(0, 0).length).toBeGreaterThan(0);
    for (const [x, y] of [[-400, 0], [400, 0], [0, -400], [0, 400]] as const) { // the hill's top is on an edge of the screen
      for (const [text, across, down] of shifted(x, y)) {
        const half = 3 * String(text).length + 4;
        expect(across! - half > 0 && across! + half < 800 && down! - 10 > 0 && down! + 10 < 800).toBe(true);
      }
    }
  });

  it("are none on lines that are too short", () => {
    const peak = Float32Array.from({ length: 1600 }, (_, k) => (k === 820 ? 100 : 0));
    const small = new Pen();
    drawContours(small.context, peak, grid, { low: 40, high: 100, log: false }, camera, INK);
    expect([small.of("fillText"), small.of("moveTo").length > 0]).toEqual([[], true]);
  });
});

describe("lines", () => {
  const camera = fit({ west: 0, east: 2, south: -1, north: 1 }, 200, 200, 0);

  it("break at missing points", () => {
    const pen = new Pen();
    drawLines(pen.context, Float32Array.of(0, 1, 1, 0, NaN, NaN, 2, -1, 2, 1), camera);
    const steps = pen.calls.filter((each) => each[0].endsWith("To"));
    expect(steps).toEqual([["moveTo", 0, 0], ["lineTo", 100, 100], ["moveTo", 200, 200], ["lineTo", 200, 0]]);
  });

  test.each([
    [[0, 0, 2, 2], [1, 1, 3, 3], true], [[0, 0, 2, 2], [2, 0, 4, 2], false], [[0, 0, 2, 2], [0, 2, 2, 4], false], [[0, 0, 9, 9], [3, 3, 4, 4], true],
  ])("boxes %j and %j overlap: %s", (a, b, found) => {
    expect(overlap(a, b)).toBe(found);
    expect(overlap(b, a)).toBe(found);
  });

  it("name the largest cities first, and others where there is space", () => {
    const city = (name: string, lon: number, lat: number) => ({ name, x: lon, y: lat }) as never;
    const named = (cities: never[]) => {
      const pen = new Pen();
      drawCities(pen.context, cities, [], camera, INK);
      return pen.of("fillText").map((each) => each[0] as unknown);
    };
    const cities = [city("Large", 0.5, 0), city("Beside", 0.6, 0.01), city("Far", 0.5, 0.7), city("Away", 5, 0), city("Edge", 1.95, -0.5)];
    expect(named(cities)).toEqual(["Large", "Far"]);
    const rows = Array.from({ length: 20 }, (_, k) => city(String(k), 0.1 + 0.6 * (k % 3), 0.9 - 0.25 * Math.floor(k / 3)));
    expect(named(rows).length).toBe(14);
  });
});

describe("bounds of a chart", () => {
  const curve = (...values: number[]) => ({ name: "", colour: "", points: values.map((each): [number, number] => [each, -each]) });

  it("are a little wider than all finite points, and not below zero if these are not", () => {
    const all = [curve(10, 60), curve(NaN, 110, Infinity)];
    expect(bounds(all, 0)).toEqual([4, 116]);
    expect(bounds(all, 1)).toEqual([-116, -4]);
    expect(bounds([curve(1, 101)], 0)).toEqual([0, 107]);
  });

  it("have a margin around a single value, and a default without points", () => {
    expect(bounds([curve(20)], 0)).toEqual([18, 22]);
    expect(bounds([curve(0)], 0)).toEqual([0, 1]);
    expect(bounds([curve(NaN)], 0)).toEqual([0, 1]);
  });
});

