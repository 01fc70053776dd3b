// Marked places and the line: series, profiles, the cross-section, and their frames.
import { beforeEach, describe, expect, it } from "vitest";
import { HUES } from "../src/maths/hues";
import { STEPS } from "../src/maths/section";
import { curtain } from "../src/state/curtain";
import { hasLevels, marked, profiles, series, subscriptions } from "../src/state/places";
import { infos, latest } from "../src/state/store";
import { look, showTime } from "../src/state/view";
import { field, frame, gridInfo, model, receive, see } from "./samples";

const LEVELS = { levels: [45, 150, 400] };
const IN = [0.5, 50.5] as const; // row 0, column 0
const ALSO = [2.5, 51.5] as const; // row 1, column 2
const OUT = [9, 50.5] as const;

beforeEach(() => {
  infos.value = { main: model([field("O3", {}, 3)], LEVELS), two: model([field("O3", {}, 3)], LEVELS) };
  latest.value = {};
  showTime(null);
  see({ variable: "O3", unit: "ppb", panel: "place", places: [IN, OUT, ALSO] });
});

describe("marked places", () => {
  it("have the cell that they lie in, and a colour by their number", () => {
    expect(marked.value.map((each) => each.cell)).toEqual([{ row: 0, column: 0 }, null, { row: 1, column: 2 }]);
    expect(new Set(HUES).size).toBe(HUES.length);
    look({ places: Array(HUES.length + 1).fill(IN) });
    expect(marked.value.map((each) => each.colour)).toEqual([...HUES, HUES[0]]);
  });
});

describe("series", () => {
  it("have the value of each frame at the cell, for each place and session; none outside of the map", () => {
    look({ other: "two" });
    receive("main", 0, [1e-9, 0, 0, 0, 0, 0, 7e-9, 0]);
    receive("main", 60, [2e-9, 0, 0, 0, 0, 0, 8e-9, 0]);
    receive("two", 0, [3e-9, 0, 0, 0, 0, 0, 9e-9, 0]);
    const found = series.value;
    expect(found.map((each) => [each.name, each.dashed])).toEqual([
      ["1 50.50° N, 0.50° E, main", false], ["1 50.50° N, 0.50° E, two", true], ["2 50.50° N, 9.00° E, main", false], ["2 50.50° N, 9.00° E, two", true], ["3 51.50° N, 2.50° E, main", false], ["3 51.50° N, 2.50° E, two", true],
    ]);
    const rounded = found.map((each) => each.points.map(([x, y]) => [x, Math.round(y)]));
    expect(rounded).toEqual([[[0, 1], [60000, 2]], [[0, 3]], [], [], [[0, 7], [60000, 8]], [[0, 9]]]);
  });

  it("are of the variable that is shown", () => {
    receive("main", 0, [1e-9], { variable: "NO2" });
    expect(series.value[0]?.points).toEqual([]);
  });
});

describe("profiles", () => {
  const profile = (more = {}) => frame(0, { shape: [3, 1, 1], ...more }, Float32Array.of(1e-9, 2e-9, 3e-9));

  it("have a value at the height of each level", () => {
    latest.value = { "profile:0": profile(), "profile:1": profile(), "profile:2": profile({ variable: "NO2" }) };
    expect(profiles.value.map((each) => each.name)).toEqual(["1 50.50° N, 0.50° E"]); // the second lies outside, the third is of another field
    expect(profiles.value[0]?.points.map(([x, y]) => [Math.round(x), y])).toEqual([[1, 45], [2, 150], [3, 400]]);
  });

  it("are none of a window that is not one of levels, nor of a field without levels", () => {
    latest.value = { "profile:0": profile({ shape: [1, 3] }) };
    expect(profiles.value).toEqual([]);
    infos.value = { main: model([field("O3")], LEVELS) };
    latest.value = { "profile:0": profile() };
    expect([hasLevels.value, profiles.value]).toEqual([false, []]);
  });
});

describe("the cross-section", () => {
  const LINE = [[1, 50.5], [5, 50.5]] as const; // columns 1 to 3 of row 0, the last quarter outside
  const window = [0, 1, 1, 4] as const;
  const values = Float32Array.of(1, 2, 3, 11, 12, 13, 21, 22, 23).map((each) => each * 1e-9);

  beforeEach(() => {
    look({ line: [[...LINE[0]], [...LINE[1]]], places: [] });
    latest.value = { curtain: frame(0, { shape: [3, 1, 3], window: [...window] }, values) };
  });

  it("has the values of the cells along the line, from the ground up; none outside of the map", () => {
    const found = curtain.value!;
    expect(found.values.length).toBe(3 * STEPS);
    const at = (up: number, part: number) => Math.round(found.values[up * STEPS + Math.floor(part * STEPS)]!);
    expect([0, 0.3, 0.6].map((part) => [at(0, part), at(1, part), at(2, part)])).toEqual([[1, 11, 21], [2, 12, 22], [3, 13, 23]]);
    expect([at(0, 0.8), at(2, 0.99)]).toEqual([NaN, NaN]);
  });

  it("reads windows of several rows, and has no values outside of its window", () => {
    look({ line: [[0, 50.5], [4, 51.5]] }); // rows 0 and 1, columns 0 to 3; the window lacks the last column
    const frameOfRows = frame(0, { shape: [2, 2, 3], window: [0, 2, 0, 3] }, Float32Array.from({ length: 12 }, (_, k) => k * 1e-9));
    latest.value = { curtain: frameOfRows };
    const at = (up: number, part: number) => Math.round(curtain.value!.values[up * STEPS + Math.floor(part * STEPS)]!);
    expect([0.1, 0.3, 0.6, 0.9].map((part) => at(0, part))).toEqual([0, 1, 5, NaN]);
    expect([0.1, 0.3, 0.6, 0.9].map((part) => at(1, part))).toEqual([6, 7, 11, NaN]);
  });

  it("is as long as the line on the globe, with edges of the levels", () => {
    expect(curtain.value?.length).toBeCloseTo(4 * 111.195 * Math.cos((50.5 * Math.PI) / 180), 0);
    expect(curtain.value?.edges).toEqual([0, 1, 2, 3]);
    const level = { name: "level", values: [45, 150, 400], bounds: [[0, 90], [90, 210], [210, 590]], unit: "m" };
    const coordinates = [...gridInfo([0.5, 1.5, 2.5, 3.5], [50.5, 51.5]).coordinates, level] as never;
    infos.value = { main: model([field("O3", {}, 3)], { ...LEVELS, coordinates }) };
    expect(curtain.value?.edges).toEqual([0, 90, 210, 590]);
  });

  it("is null without a line, a window, or values of the variable", () => {
    const present = latest.value["curtain"]!;
    latest.value = { curtain: { ...present, header: { ...present.header, window: null } } };
    expect(curtain.value).toBeNull();
    latest.value = { curtain: { ...present, header: { ...present.header, variable: "NO2" } } };
    expect(curtain.value).toBeNull();
    latest.value = { curtain: present };
    expect(curtain.value).not.toBeNull();
    look({ line: null });
    expect(curtain.value).toBeNull();
  });

  it("requires the window around the cells of its line", () => {
    expect(subscriptions()).toEqual([{ id: "curtain", session: "main", variable: "O3", hz: 5, window }]);
    look({ line: [[3.5, 51.5], [0.5, 50.5]] });
    expect(subscriptions()[0]?.window).toEqual([0, 2, 0, 4]);
    look({ line: [[9, 50.5], [12, 50.5]] });
    expect(subscriptions()).toEqual([]);
  });
});

describe("subscriptions", () => {
  it("are windows of one cell for each place on the map, while their panel is open", () => {
    expect(subscriptions().map((each) => [each.id, each.window])).toEqual([["profile:0", [0, 1, 0, 1]], ["profile:2", [1, 2, 2, 3]]]);
    look({ panel: "fields" });
    expect(subscriptions()).toEqual([]);
  });

  it("are none of a field without levels", () => {
    infos.value = { main: model([field("O3")], LEVELS) };
    expect(subscriptions()).toEqual([]);
  });
});
