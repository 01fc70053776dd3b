// Units, ranges and differences of the displayed fields, sessions and winds.
import { beforeEach, describe, expect, it, test, vi } from "vitest";
import { signedTable } from "../src/maths/colours";
import { companionSubscriptions, followCompanions, hasAir, mapAir, mapWind } from "../src/state/companions";
import { beyond, colours, comparing, contourLevels, difference, displayedSpan, exceeded, fields, limits, limitText, positive, range, unit } from "../src/state/scale";
import { grid, http, infos, latest, level, releasable, variables } from "../src/state/store";
import { look, read, showTime, view, watched, written } from "../src/state/view";
import { referenceSpeed, strongestOf, winds } from "../src/state/wind";
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
    latest.value = { "with:air_density": frame(0, { variable: "air_density", level: null }, Float32Array.of(40, 20)) };
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
    expect(colours.value).toBe(signedTable(false));
  });

  it("has the range of a shared link, for the same field, unit and runs", () => {
    const span = { ...displayedSpan.value!, size: 20 };
    expect([displayedSpan.value?.size, read(written({ ...view.value, span }))?.span]).toEqual([3, span]);
    look({ span });
    expect(range.value).toEqual({ low: -20, high: 20, log: false });
    look({ span: { ...span, of: "another" } });
    expect(range.value.high).toBe(3);
    expect(read('#view={"version":1,"span":{"of":"E","size":-1}}')?.span).toBeNull();
    look({ span: null });
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

  it("of a field without a default holds all values so far, in the unit that is shown", () => {
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
    expect([positive.value, range.value.log]).toEqual([false, false]);
  });
});

describe("a field with a default scale", () => {
  beforeEach(() => {
    infos.value = { main: model([field("O3", { molar_mass: 0.048, text: "Ozone" }, 3), field("SA", { molar_mass: 0.096 })]) };
    look({ variable: "O3" });
    receive("main", 0, [100e-9, 20e-9], { variable: "O3" });
  });

  it("is in µg/m³ at the reference state, over a range that no hour changes", () => {
    expect([unit.value?.label, range.value]).toEqual(["µg/m³", { low: 0, high: 180, log: false }]);
    expect(shownValues()[0]?.[0]).toBeCloseTo(199.6, 1); // 100 ppb
    receive("main", 60, [900e-9, 20e-9], { variable: "O3" });
    expect(range.value.high).toBe(180);
    expect(beyond.value).toEqual({ low: false, high: true });
  });

  it("has a round range in other units, and follows the map on request", () => {
    look({ unit: "ppb" });
    expect(range.value).toEqual({ low: 0, high: 90, log: false }); // 180 µg/m³ are 90 ppb
    look({ range: "map" });
    expect(range.value).toEqual({ low: 0, high: 100, log: false });
    look({ range: null, log: true });
    expect(range.value).toEqual({ low: 0.09, high: 90, log: true });
  });

  it("has the limits of the law at the ground, each with its mean", () => {
    expect(limits.value.map((each) => [each.label, Math.round(each.at)])).toEqual([
      ["WHO 100 (8 h)", 100], ["EU 120 (8 h)", 120], ["EU information 180 (1 h)", 180], ["EU alert 240 (1 h)", 240],
    ]);
    expect(limitText(exceeded(199.6)!)).toBe("EU information threshold, 180 µg/m³ (mean of 1 h)");
    expect(exceeded(99)).toBeNull();
    look({ unit: "ppb" });
    expect(Math.round(exceeded(60)!.at)).toBe(50);
    look({ level: 1 });
    expect(limits.value).toEqual([]);
  });

  it("has contours at round values and limits, and none near a limit", () => {
    expect(contourLevels.value.filter((each) => each.limit).map((each) => each.text)).toEqual(["100 µg/m³", "120 µg/m³", "180 µg/m³"]);
    expect(contourLevels.value.map((each) => Math.round(each.value))).toEqual([0, 20, 40, 60, 80, 100, 120, 140, 160, 180]);
  });

  it("of particles needs the amount of air, and is in another unit without it", () => {
    look({ variable: "SA" });
    expect(unit.value?.id).toBe("ppb");
  });
});

describe("colours", () => {
  it("are those of the variable, or chosen", () => {
    infos.value = { main: model([field("O3"), field("eastward_wind", { unit: "m s-1" })]) };
    look({ variable: "O3" });
    expect(colours.value).toBe("haze");
    look({ colours: "viridis" });
    expect(colours.value).toBe("viridis");
    look({ colours: null, variable: "eastward_wind", theme: "dark" });
    expect(colours.value).toBe(signedTable(true));
  });
});

describe("weather that goes with the field", () => {
  const wind = [field("eastward_wind", { unit: "m s-1" }), field("northward_wind", { unit: "m s-1" })];
  const state = [field("air_pressure", { unit: "Pa", standard_name: "air_pressure" }), field("air_temperature", { unit: "K", standard_name: "air_temperature" })];

  beforeEach(() => {
    infos.value = { main: model([field("OH"), ...wind, ...state]) };
    look({ variable: "OH", unit: "molecules/cm3", wind: "particles" });
    receive("main", 0, [1e-12, 1e-12], { variable: "OH" });
  });

  it("is subscribed at the level of the map: wind, and air by pressure and temperature where the model does not provide it", () => {
    expect(hasAir.value).toBe(true);
    expect(companionSubscriptions(true).map((each) => each.id)).toEqual(["with:air_pressure", "with:air_temperature", "with:eastward_wind", "with:northward_wind"]);
    look({ wind: "none" });
    expect(companionSubscriptions(false)).toEqual([]);
  });

  it("gives the amount of air by the ideal gas law", () => {
    const of = (name: string, value: number) => ({ [`with:${name}`]: frame(0, { variable: name, level: null }, Float32Array.of(value, value)) });
    latest.value = { ...of("air_pressure", 101300), ...of("air_temperature", 293) };
    expect(mapAir.value?.[0]).toBeCloseTo(41.583, 2);
  });

  it("of a past hour is that of the hour, between its records", async () => {
    const values: Record<string, [number, number]> = { air_pressure: [1e5, 1e5], air_temperature: [250, 300], eastward_wind: [2, 6], northward_wind: [0, 0] };
    const frames = vi.spyOn(http, "frames").mockImplementation((path) => {
      const name = /recording\/(\w+)/.exec(path)?.[1] ?? "";
      return Promise.resolve((values[name] ?? []).map((value, k) => frame(3600 * k, { variable: name, level: null, subscription: null }, Float32Array.of(value, value))));
    });
    followCompanions(() => true);
    await vi.waitFor(() => expect(frames).toHaveBeenCalledTimes(4));
    await Promise.resolve();
    showTime(1800);
    expect(mapWind.value?.east[0]).toBe(4);
    expect(mapAir.value?.[0]).toBeCloseTo(1e5 / (8.314462618 * 275), 3);
    showTime(0);
    expect(mapAir.value?.[0]).toBeCloseTo(1e5 / (8.314462618 * 250), 3);
    frames.mockRestore();
  });

  it("has a reference speed that is round, and near the strongest wind", () => {
    expect([0, 1, 4.9, 12, 38, 300].map(referenceSpeed)).toEqual([1, 1, 4, 10, 40, 100]);
    expect(strongestOf({ east: Float32Array.of(3, NaN), north: Float32Array.of(-4, 1) })).toBe(5);
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
