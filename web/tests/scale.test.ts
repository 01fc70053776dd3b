// Units, ranges and differences of the displayed fields, sessions and winds.
import { beforeEach, describe, expect, it, test } from "vitest";
import { SIGNED, tableOf } from "../src/maths/colours";
import { colours, comparing, difference, fields, positive, range, unit } from "../src/state/scale";
import { grid, infos, latest, level, releasable, variables } from "../src/state/store";
import { look, showTime, watched } from "../src/state/view";
import { winds } from "../src/state/wind";
import { field, frame, model, receive, see, variable } from "./samples";

const NAMES = ["A", "B", "C", "D", "E", "F", "G", "H", "T"];
const OF_MODEL = NAMES.map((name) => field(name, name === "T" ? { unit: "K" } : {}));

beforeEach(() => {
  see({});
  showTime(null);
  latest.value = {};
  infos.value = { main: model(OF_MODEL), two: model(OF_MODEL) };
});

const shownValues = (): number[][] => fields.value.map((each) => [...each.values].map((value) => Number(value.toPrecision(6))));

describe("sessions", () => {
  test.each([[null, ["main"]], ["two", ["main", "two"]], ["main", ["main"]]])("with another, %j, are %j", (other, names) => {
    look({ other });
    expect(watched.value).toEqual(names);
  });
});

describe("the unit", () => {
  it("follows the largest value that was seen first, and stays when values grow", () => {
    look({ variable: "A" });
    receive("main", 0, [1e-12, 0], { variable: "A", range: [0, 1e-12] });
    expect(unit.value?.id).toBe("ppt");
    receive("main", 60, [1e-4, 0], { variable: "A", range: [0, 1e-4] });
    expect(unit.value?.id).toBe("ppt");
  });

  it("waits for a value above zero", () => {
    look({ variable: "B" });
    receive("main", 0, [0, 0], { variable: "B", range: [0, 0] });
    expect(unit.value?.id).toBe("ppb");
    receive("main", 60, [1e-4, 0], { variable: "B", range: [0, 1e-4] });
    expect(unit.value?.id).toBe("ppm");
  });

  it("is null without a variable", () => expect([unit.value, fields.value]).toEqual([null, []]));
});

describe("fields", () => {
  it("are in the unit of the scale, of the variable that is shown alone", () => {
    look({ variable: "C", unit: "ppb" });
    receive("main", 0, [40e-9, 2e-9], { variable: "C" });
    expect(shownValues()).toEqual([[40, 2]]);
    look({ variable: "D" });
    expect(fields.value).toEqual([]);
  });

  it("are those of the selected past time", () => {
    look({ variable: "C", unit: "ppb" });
    for (const seconds of [0, 60, 120]) receive("main", seconds, [seconds * 1e-9], { variable: "C" });
    showTime(60);
    expect(shownValues()).toEqual([[60]]);
    showTime(null);
    expect(shownValues()).toEqual([[120]]);
  });

  it("in units by air are multiplied by the air of each cell", () => {
    infos.value = { main: { ...model([field("C"), field("air_density", { unit: "mol m-3" })]), air: "air_density" } };
    look({ variable: "C", unit: "molecules/cm3" });
    receive("main", 0, [1e-9, 1e-9], { variable: "C" });
    expect(fields.value[0]?.values[0]).toBeNaN();
    latest.value = { air: frame(0, { variable: "air_density" }, Float32Array.of(40, 20)) };
    const [values] = shownValues();
    expect(values?.[0]! / 1e10).toBeCloseTo(2.408856, 5); // 40 mol/m3 of air, 1 ppb, 6.022e23 molecules/mol
    expect(values?.[0]! / values?.[1]!).toBeCloseTo(2, 5);
  });
});

describe("the difference of two sessions", () => {
  beforeEach(() => {
    look({ variable: "E", unit: "ppb", other: "two", compare: "difference" });
    receive("main", 0, [1e-9, 5e-9], { variable: "E" });
    receive("two", 0, [4e-9, 2e-9], { variable: "E" });
  });

  it("is the second minus the first, in symmetric colours", () => {
    expect(comparing.value).toBe(true);
    expect([...difference.value!.values].map((each) => Math.round(1e4 * each) / 1e4)).toEqual([3, -3]);
    expect(range.value).toEqual({ low: -3, high: 3, log: false });
    expect(colours.value).toBe(SIGNED);
  });

  it("is of the latest time that both have", () => {
    receive("main", 60, [9e-9, 9e-9], { variable: "E" });
    expect(difference.value?.values[0]).toBeCloseTo(3, 4);
    receive("two", 60, [9e-9, 8e-9], { variable: "E" });
    expect(difference.value?.values[1]).toBeCloseTo(-1, 4);
  });

  it("is none for two times, for one session, and in side-by-side view", () => {
    receive("main", -60, [9e-9, 9e-9], { variable: "E" }); // an earlier state was restored: there is no common time
    expect(difference.value).toBeNull();
    look({ other: null });
    expect([comparing.value, difference.value]).toEqual([false, null]);
    look({ other: "two", compare: "beside" });
    expect([comparing.value, difference.value]).toEqual([false, null]);
  });

  it("is none while the second has no frame of the variable", () => {
    receive("two", 60, [1e-9, 1e-9], { variable: "D" });
    expect(difference.value).toBeNull();
    expect(fields.value.map((each) => each.session)).toEqual(["main"]);
  });

  it("is missing where one of them is", () => {
    receive("two", 0, [NaN, 2e-9], { variable: "E" });
    expect(difference.value?.values[0]).toBeNaN();
    expect(difference.value?.values[1]).toBeCloseTo(-3, 4);
  });
});

describe("the range", () => {
  it("is that of the view, except where a logarithmic scale cannot show it", () => {
    look({ variable: "F", unit: "ppb", range: [2, 7] });
    receive("main", 0, [1e-9, 97e-9], { variable: "F" });
    expect(range.value).toEqual({ low: 2, high: 7, log: false });
    look({ log: true });
    expect(range.value).toEqual({ low: 2, high: 7, log: true });
    look({ range: [0, 7] });
    expect(range.value).toEqual({ low: 1, high: 100, log: true });
  });

  it("stays while values fill it, but not for another unit", () => {
    look({ variable: "G", unit: "ppb" });
    receive("main", 0, [0, 100e-9], { variable: "G" });
    expect(range.value.high).toBe(100);
    receive("main", 60, [0, 60e-9], { variable: "G" });
    expect(range.value.high).toBe(100);
    look({ unit: "ppt" });
    expect(range.value.high).toBe(60000);
  });

  it("is linear where no value is positive", () => {
    look({ variable: "H", unit: "ppb", log: true });
    receive("main", 0, [-1e-9, 3e-9], { variable: "H" });
    expect([positive.value, range.value.log]).toEqual([false, false]);
    receive("main", 60, [-1e-12, 3e-6], { variable: "H" }); // rounding below zero
    expect([positive.value, range.value.log]).toEqual([true, true]);
    receive("main", 120, [0, 0], { variable: "H" });
    expect([positive.value, range.value]).toEqual([false, { low: 0, high: 1, log: false }]);
  });
});

describe("colours", () => {
  it("are those of the variable, or chosen", () => {
    look({ variable: "O3" });
    infos.value = { main: model([field("O3")]) };
    expect(colours.value).toBe(tableOf("O3"));
    look({ colours: "viridis" });
    expect(colours.value).toBe("viridis");
  });
});

describe("the wind", () => {
  const wind = (name: string, more = {}) => field(name, { unit: "m s-1", ...more });

  it("is found by names or standard names, and only where both sides have a map", () => {
    expect(winds.value).toBeNull();
    const byStandard = wind("x", { standard_name: "eastward_wind" });
    infos.value = { main: model([byStandard, wind("v_wind"), field("O3")]) };
    expect([winds.value?.east.name, winds.value?.north.name]).toEqual(["x", "v_wind"]);
    infos.value = { main: model([byStandard, variable("v_wind", "m s-1", null)]) };
    expect(winds.value).toBeNull();
  });
});

describe("a model", () => {
  it("shows the fields that have a map", () => {
    infos.value = { main: model([field("A"), variable("n", "1", null), field("soil", { dims: ["lon", "lat"] } as never)]) };
    expect(variables.value.map((each) => each.name)).toEqual(["A"]);
    expect(grid.value).toEqual({ rows: 2, columns: 4, west: 0, east: 4, south: 50, north: 52 });
  });

  it("has levels up to its highest, and no more", () => {
    infos.value = { main: model([field("A", {}, 3), field("B")]) };
    look({ variable: "A", level: 7 });
    expect(level.value).toBe(2);
    look({ variable: "B" });
    expect(level.value).toBe(0);
  });

  it("releases species of known molar mass", () => {
    infos.value = { main: model([field("A", { molar_mass: 0.048 }), field("B")]) };
    expect(releasable.value).toEqual(["A"]);
  });
});
