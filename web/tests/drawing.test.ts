// Arrows, labels, lines and charts, checked by their calls on a canvas.
import { describe, expect, it, test } from "vitest";
import { bounds } from "../src/charts/axes";
import { drawArrows } from "../src/map/arrows";
import { fit, toPlace } from "../src/map/camera";
import { drawContours } from "../src/map/contours";
import { drawCities } from "../src/map/basemap";
import { crossing, degreesText, straight } from "../src/map/graticule";
import { drawLines, overlap } from "../src/map/lines";
import type { WindField } from "../src/map/wind_field";
import type { Grid } from "../src/maths/grid";
import { Pen } from "./samples";

const INK = { line: "#000", halo: "#fff", text: "#111", accent: "#00f", land: "#eee", shore: "#999", grid: "#ccc", soft: "#555" };

describe("arrows", () => {
  const grid: Grid = { rows: 2, columns: 2, west: 0, east: 2, south: -1, north: 1 };
  const camera = fit({ west: 0, east: 2, south: -1, north: 1 }, 136, 136, 0); // four arrows across

  /** Return the arrows of a wind as begin and end, without their heads. */
  function arrows(east: number[], north: number[], perSpeed = 5.6): number[][] {
    const pen = new Pen();
    const field: WindField = { grid, east: Float32Array.from(east), north: Float32Array.from(north) };
    drawArrows(pen.context, field, camera, INK, perSpeed);
    const [begins, ends] = [pen.of("moveTo"), pen.of("lineTo")];
    const half = ends.length / 2; // once for the halo, once for the line
    expect(begins.slice(half)).toEqual(begins.slice(0, half));
    return Array.from({ length: half / 3 }, (_, k) => [...begins[3 * k]!, ...ends[3 * k]!]);
  }

  it("have a distance of 34 pixels, and the length of their speed", () => {
    const found = arrows([5, 5, 5, 5], [0, 0, 0, 0]);
    expect(found.length).toBe(16);
    expect(found[0]).toEqual([3, 17, 31, 17]);
    expect(found[5]).toEqual([37, 51, 65, 51]);
  });

  it("point where the wind blows to: up for a wind from the south", () => {
    expect(arrows([0, 0, 0, 0], [5, 5, 5, 5])[0]).toEqual([17, 31, 17, 3]);
    expect(arrows([-5, -5, -5, -5], [0, 0, 0, 0])[0]).toEqual([31, 17, 3, 17]);
  });

  it("are as long as the wind is strong, and dots where it is calm", () => {
    const pen = new Pen();
    drawArrows(pen.context, { grid, east: Float32Array.of(0, 4, 0, 4), north: new Float32Array(4) }, camera, INK, 7);
    const ends = pen.of("lineTo").slice(0, pen.of("lineTo").length / 2);
    expect(ends.slice(0, 4).map(([x]) => x)).toEqual(Array(4).fill(17.1)); // the westernmost column is calm
    expect(arrows([4, 4, 4, 4], [0, 0, 0, 0], 7)[0]).toEqual([3, 17, 31, 17]);
    expect(arrows([2, 2, 2, 2], [0, 0, 0, 0], 7)[0]).toEqual([10, 17, 24, 17]);
  });

  it("have a head of two strokes back from the tip, a third as long, at most six pixels", () => {
    const heads = (wind: number[], north = [0, 0, 0, 0]) => {
      const pen = new Pen();
      drawArrows(pen.context, { grid, east: Float32Array.from(wind), north: Float32Array.from(north) }, camera, INK, 5.6);
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
    expect(heads([2.5, 2.5, 2.5, 2.5])[1]![0]).toBeCloseTo(14 * 0.35 * Math.cos(2.6), 9);
  });

  it("are left out next to a missing value", () => {
    expect(arrows([NaN, 5, 5, 5], [0, 0, 0, 0])).toEqual([]);
  });

  it("are drawn on maps of very many cells", () => {
    const count = 400;
    const field = { grid: { ...grid, rows: count, columns: count }, east: new Float32Array(count ** 2).fill(2), north: new Float32Array(count ** 2) };
    const pen = new Pen();
    drawArrows(pen.context, field, camera, INK, 14);
    expect(pen.of("moveTo")[0]).toEqual([3, 17]);
  });
});

describe("labels of contours", () => {
  const grid: Grid = { rows: 40, columns: 40, west: 0, east: 8, south: -4, north: 4 };
  const camera = fit({ west: 0, east: 8, south: -4, north: 4 }, 800, 800, 0);
  const hill = Float32Array.from({ length: 1600 }, (_, k) => 100 - Math.hypot((k % 40) - 19.5, Math.floor(k / 40) - 19.5) * 5);
  const levels = (values: number[], limit = NaN) => values.map((value) => ({ value, text: String(value), limit: value === limit }));

  /** Return the labels as text, position and angle. */
  function labels(of: Float32Array, values: number[], seen = camera): [string, number, number, number][] {
    const pen = new Pen();
    drawContours(pen.context, of, grid, levels(values), seen, INK);
    const texts = pen.calls.filter((each) => each[0] === "fillText").map((each) => each[1] as string);
    const [places, turns] = [pen.of("translate"), pen.of("rotate")];
    return texts.map((text, k) => [text, places[k]![0]!, places[k]![1]!, turns[k]![0]!]);
  }

  const found = labels(hill, [30, 40, 50, 60, 70, 80]);

  it("are on the lines of their values, along them, and not upside down", () => {
    expect(found.length).toBeGreaterThan(3);
    for (const [text, x, y, angle] of found) {
      const [lon, lat] = toPlace(camera, x, y);
      expect(Math.abs(100 - Math.hypot(lon - 4, lat) * 25 - Number(text))).toBeLessThan(0.7);
      const tangent = Math.atan2(x - 400, -(y - 400)); // of a circle around the middle
      expect(Math.abs(Math.sin(angle - tangent))).toBeLessThan(0.3);
      expect(Math.abs(angle)).toBeLessThanOrEqual(Math.PI / 2 + 1e-9);
    }
  });

  it("are clear of each other", () => {
    const places = found.map(([, x, y]) => [x, y] as const);
    for (const [k, one] of places.entries()) for (const other of places.slice(k + 1)) expect(Math.hypot(one[0] - other[0], one[1] - other[1])).toBeGreaterThan(14);
  });

  it("are none where they would leave the screen", () => {
    const shifted = (x: number, y: number) => labels(hill, [86, 90, 94], { ...camera, lon: camera.lon - x / 100, lat: camera.lat + y / 100 });
    expect(shifted(0, 0).length).toBeGreaterThan(0);
    for (const [x, y] of [[-400, 0], [400, 0], [0, -400], [0, 400]] as const) { // the hill's top is on an edge of the screen
      for (const [, across, down] of shifted(x, y)) expect(across > 10 && across < 790 && down > 10 && down < 790).toBe(true);
    }
  });

  it("are none on lines that are too short", () => {
    const peak = Float32Array.from({ length: 1600 }, (_, k) => (k === 820 ? 100 : 0));
    expect(labels(peak, [40, 60, 80])).toEqual([]);
    const pen = new Pen();
    drawContours(pen.context, peak, grid, levels([40]), camera, INK);
    expect(pen.of("moveTo").length).toBeGreaterThan(0);
  });

  it("of limits come first, on heavier lines, and values below zero are dashed", () => {
    const pen = new Pen();
    drawContours(pen.context, hill, grid, levels([50, 60], 60), camera, INK);
    expect(pen.calls.find((each) => each[0] === "fillText")?.[1]).toBe("60");
    drawContours(pen.context, hill.map((each) => each - 100), grid, levels([-50]), camera, INK);
    expect(pen.of("setLineDash").some((each) => (each[0] as unknown as number[]).length === 2)).toBe(true);
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
    const city = (name: string, lon: number, lat: number) => ({ name, x: lon, y: lat, population: 200_000 }) as never;
    const named = (cities: never[]) => {
      const pen = new Pen();
      drawCities(pen.context, cities, [], camera, { top: 0, right: 0, bottom: 0 }, INK);
      return pen.of("fillText").map((each) => each[0] as unknown);
    };
    const cities = [city("Large", 0.5, 0), city("Beside", 0.6, 0.01), city("Far", 0.5, 0.7), city("Away", 5, 0), city("Edge", 1.95, -0.5)];
    expect(named(cities)).toEqual(["Large", "Far"]);
    const rows = Array.from({ length: 20 }, (_, k) => city(String(k), 0.1 + 0.6 * (k % 3), 0.9 - 0.25 * Math.floor(k / 3)));
    expect(named(rows).length).toBe(6); // as many as the map has space for
  });
});

describe("the graticule", () => {
  const camera = { lon: 5, lat: 50, scale: 75, width: 1000, height: 750 };

  it("has lines at round degrees, which are labelled inside the window", () => {
    const curves = straight(camera);
    expect(curves.filter((each) => each.isMeridian).map((each) => each.text)).toEqual(["5° W", "0°", "5° E", "10° E", "15° E"]);
    expect(curves.filter((each) => !each.isMeridian).map((each) => each.text)).toEqual(["46° N", "48° N", "50° N", "52° N", "54° N"]);
    const near = straight({ ...camera, scale: 800 });
    expect(near.filter((each) => !each.isMeridian).map((each) => each.text)).toEqual(["49.6° N", "49.8° N", "50° N", "50.2° N", "50.4° N"]);
  });

  it("names degrees across the date line", () => {
    expect([degreesText(-0.5, "N", "S"), degreesText(180, "E", "W"), degreesText(0, "E", "W")]).toEqual(["0.5° S", "180°", "0°"]);
    expect(straight({ ...camera, lon: 180 }).filter((each) => each.isMeridian).map((each) => each.text)).toEqual(["170° E", "175° E", "180°", "175° W", "170° W"]);
  });

  it("is labelled where a curve crosses the edge, clear of the legend and of the corners", () => {
    const curve = (isMeridian: boolean, ...path: [number, number][]) => ({ text: "", isMeridian, path });
    expect(crossing(curve(true, [700, 0], [600, 750]), camera)?.map(Math.round)).toEqual([601, 742]);
    expect(crossing(curve(true, [200, 0], [200, 750]), camera)).toBeNull();
    expect(crossing(curve(false, [0, 100], [1000, 300]), camera)?.map(Math.round)).toEqual([8, 102]);
    expect(crossing(curve(false, [500, 100], [1000, 300]), camera)).toBeNull();
    const covered = { top: 100, right: 350, bottom: 50 };
    expect(crossing(curve(true, [600, 0], [600, 750]), camera, covered)).toEqual([600, 692]);
    expect(crossing(curve(true, [700, 0], [700, 750]), camera, covered)).toBeNull();
    expect(crossing(curve(false, [0, 100], [1000, 300]), camera, covered)).toBeNull();
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

