// Numbers, units, ranges, colours and cells of the page.
import { describe, expect, it, test } from "vitest";
import { COUNT, NAMES, OTHER, colourAt, gradient, signedTable, table } from "../src/maths/colours";
import { bytes, number, quantity, span } from "../src/maths/format";
import { cellAt, centreOf, gridOf, placeText, valueAt, type Grid } from "../src/maths/grid";
import { around, automatic, extent, fraction, ticks, usualSize } from "../src/maths/range";
import { convert, pretty, unitFor, unitsOf } from "../src/maths/units";
import { gridInfo, variable } from "./samples";

describe("number", () => {
  test.each([
    [0, "0"], [1, "1"], [12.3456, "12.3"], [-12.3456, "−12.3"], [999999, "1000000"], [0.001, "0.001"], [0.00123456, "0.00123"],
    [1e6, "1·10⁶"], [1.2345e-5, "1.23·10⁻⁵"], [-4.5e12, "−4.5·10¹²"], [9.999e-4, "1·10⁻³"],
    [NaN, "–"], [Infinity, "–"], [-Infinity, "–"],
  ])("%d is %s", (value, text) => expect(number(value)).toBe(text));

  it("has the digits that are requested", () => expect(number(3.14159, 5)).toBe("3.1416"));
});

test.each([
  [82.234, "µg/m³", "82.2 µg/m³"], [0.04, "µg/m³", "below 0.1 µg/m³"], [0, "µg/m³", "0 µg/m³"], [0.1, "µg/m³", "0.1 µg/m³"], [-0.04, "µg/m³", "−0.04 µg/m³"],
  [0.04, "ppb", "0.04 ppb"], [3, "", "3"], [NaN, "ppb", "–"],
])("the quantity %d %s is %s", (value, unit, text) => expect(quantity(value, unit)).toBe(text));

describe("times", () => {
  test.each([
    [0, "0 s"], [59, "59 s"], [60, "1 min"], [90, "1.5 min"], [3600, "1 h"], [21600, "6 h"], [86400, "24 h"],
    [172800, "2 d"], [1036800, "12 d"], [-7200, "-2 h"],
  ])("a span of %d s is %s", (seconds, text) => expect(span(seconds)).toBe(text));

  test.each([[0, "0 kB"], [500, "0.5 kB"], [66000, "66 kB"], [999600, "1000 kB"], [1.5e6, "1.5 MB"], [2.5e9, "2500 MB"]])("%d bytes are %s", (count, text) =>
    expect(bytes(count)).toBe(text));
});

const MAP: Grid = { rows: 2, columns: 4, west: 0, east: 4, south: 50, north: 52 };

describe("grid", () => {
  it("takes its edges from bounds, or half a cell beyond the centres", () => {
    expect(gridOf(gridInfo([0.5, 1.5, 2.5, 3.5], [50.5, 51.5]))).toEqual(MAP);
    const bounds = [[-1, 1], [1, 2], [2, 3], [3, 5]];
    expect(gridOf(gridInfo([0, 1.5, 2.5, 4], [50.5, 51.5], bounds))).toEqual({ ...MAP, west: -1, east: 5 });
    expect(gridOf(gridInfo([7], [50]))).toEqual({ rows: 1, columns: 1, west: 6.5, east: 7.5, south: 49.5, north: 50.5 });
  });

  it("is null for a model without a map", () => {
    expect(gridOf({ ...gridInfo([0, 1], [0, 1]), kind: "plain" })).toBeNull();
    expect(gridOf(gridInfo([], []))).toBeNull();
  });

  it("finds the cell of a place, and none beyond the edges", () => {
    expect(cellAt(MAP, [0, 50])).toEqual({ row: 0, column: 0 });
    expect(cellAt(MAP, [3.99, 51.01])).toEqual({ row: 1, column: 3 });
    for (const place of [[-0.01, 51], [4, 51], [1, 49.99], [1, 52]] as const) expect(cellAt(MAP, place)).toBeNull();
  });

  it("returns to the same cell from its centre", () => {
    for (let row = 0; row < 2; row++)
      for (let column = 0; column < 4; column++) expect(cellAt(MAP, centreOf(MAP, { row, column }))).toEqual({ row, column });
  });

  it("reads values row by row from the south", () => {
    const values = Float32Array.from({ length: 8 }, (_, k) => k);
    expect(valueAt(values, MAP, { row: 1, column: 2 })).toBe(6);
    expect(valueAt(values, MAP, { row: 2, column: 0 })).toBeNaN();
  });

  test.each([
    [[7.5, 50.25], "50.25° N, 7.50° E"], [[-7.5, -50.25], "50.25° S, 7.50° W"], [[190, 0], "0.00° N, 170.00° W"],
    [[-190, 0], "0.00° N, 170.00° E"], [[180, 10], "10.00° N, 180.00° W"],
  ] as const)("writes %j as %s", (place, text) => expect(placeText(place)).toBe(text));
});

describe("range", () => {
  it("covers finite values, and ignores missing ones", () => {
    expect(extent(Float32Array.of(3, NaN, -1, 7))).toEqual([-1, 7]);
    expect(extent(Float32Array.of(NaN))).toBeNull();
    expect(extent(new Float32Array())).toBeNull();
  });

  test.each([
    [[1, 97], { low: 0, high: 100, log: false }], [[80, 97], { low: 80, high: 98, log: false }],
    [[5, 5], { low: 0, high: 5, log: false }], [[-5, -5], { low: -5, high: 0, log: false }], [[0, 0], { low: 0, high: 1, log: false }],
    [[], { low: 0, high: 1, log: false }],
  ])("of %j is %j", (values, found) => expect(automatic(Float32Array.from(values), false, null)).toEqual(found));

  it("on a logarithmic scale spans four decades at most", () => {
    expect(automatic(Float32Array.of(1e-9, 900), true, null)).toEqual({ low: 0.01, high: 1000, log: true });
    expect(automatic(Float32Array.of(500, 900), true, null)).toEqual({ low: 10, high: 1000, log: true });
  });

  it("stays while values fill it, and follows them otherwise", () => {
    const former = { low: 0, high: 100, log: false };
    expect(automatic(Float32Array.of(0, 60), false, former)).toBe(former);
    expect(automatic(Float32Array.of(0, 50), false, former).high).toBe(50);
    expect(automatic(Float32Array.of(40, 70), false, former)).toEqual({ low: 40, high: 70, log: false });
    expect(automatic(Float32Array.of(0, 101), false, former).high).toBeGreaterThan(100);
    expect(automatic(Float32Array.of(1, 60), true, former).log).toBe(true);
  });

  it("of differences is symmetric, and a few cells may be beyond it", () => {
    expect(around(9.5)).toEqual({ low: -10, high: 10, log: false });
    const values = Float32Array.from({ length: 1000 }, (_, k) => (k < 4 ? -80 : k % 2 ? 3 : -3));
    expect(usualSize(values)).toBe(3);
    expect(usualSize(values.map((each, k) => (k < 20 ? -80 : each)))).toBe(80);
    expect([usualSize(new Float32Array()), usualSize(Float32Array.of(NaN, -2))]).toEqual([0, 2]);
  });

  it("gives the fraction of a value, beyond the ends too", () => {
    expect(fraction(25, { low: 0, high: 100, log: false })).toBe(0.25);
    expect(fraction(-100, { low: 0, high: 100, log: false })).toBe(-1);
    expect(fraction(10, { low: 1, high: 100, log: true })).toBeCloseTo(0.5, 12);
    expect(fraction(0, { low: 1, high: 100, log: true })).toBe(-Infinity);
  });

  it("has ticks at round numbers, and at decades on a logarithmic scale", () => {
    expect(ticks({ low: 0, high: 100, log: false }, 5)).toEqual([0, 20, 40, 60, 80, 100]);
    expect(ticks({ low: 0.1, high: 100, log: true }, 5)).toEqual([0.1, 1, 10, 100]);
    expect(ticks({ low: 2, high: 8, log: true }, 5).length).toBeGreaterThan(2);
  });
});

describe("units", () => {
  it("of mixing ratios have masses with a molar mass, and those of particles with the amount of air", () => {
    const ids = (molarMass: number | null, air: boolean, inAir = false) => unitsOf(variable("O3", "mol mol-1", molarMass), air, inAir).map((each) => each.id);
    expect(ids(0.048, true)).toEqual(["ug/m3", "ppb", "ppm", "ppt", "molecules/cm3"]);
    expect(ids(null, true)).toEqual(["ppb", "ppm", "ppt", "molecules/cm3"]);
    expect(ids(0.048, false)).toEqual(["ug/m3", "ppb", "ppm", "ppt"]);
    expect(ids(0.048, false, true)).toEqual(["ppb", "ppm", "ppt"]);
  });

  it("of gases in µg/m³ are those of the law, at 293 K and 101.3 kPa", () => {
    const [mass] = unitsOf(variable("NO2", "mol mol-1", 46.0055e-3), false);
    expect([mass!.byAir, convert(Float32Array.of(1e-9), mass!, null)[0]]).toEqual([false, expect.closeTo(1.913, 3)]); // 1 ppb, Directive 2008/50/EC, annex VI
  });

  it("are the same objects each time", () => {
    const o3 = variable("O3", "mol mol-1", null);
    expect(unitsOf(o3, true)).toBe(unitsOf(o3, true));
  });

  test.each([
    ["K", ["°C", "K"]], ["Pa", ["hPa", "Pa"]], ["m s-1", ["m/s", "km/h"]], ["degC", ["°C"]], ["kg m-2", ["kg m⁻²"]], ["1", [""]],
  ])("of %s are %j", (unit, labels) => expect(unitsOf(variable("x", unit, null), false).map((each) => each.label)).toEqual(labels));

  test.each([[5e-5, "ppm"], [5e-8, "ppb"], [2e-11, "ppb"], [1e-12, "ppt"], [0, "ppb"], [NaN, "ppb"]])(
    "a mixing ratio up to %d is in %s", (largest, id) =>
      expect(unitFor(unitsOf(variable("O3", "mol mol-1", null), false), null, largest).id).toBe(id));

  it("stay as chosen, and fall back to the usual one", () => {
    const units = unitsOf(variable("O3", "mol mol-1", null), false);
    expect(unitFor(units, "ppt", 1e-3).id).toBe("ppt");
    expect(unitFor(units, "ug/m3", 5e-8).id).toBe("ppb");
    expect(unitFor(unitsOf(variable("T", "K", null), false), null, 300).label).toBe("°C");
  });

  test.each([
    ["mol mol-1", [1e9, 1e6, 1e12]], ["Pa", [0.01, 1]], ["kg m-2 s-1", [3600, 86400, 1]], ["m s-1", [1, 3.6]],
  ])("of %s have the factors %j", (unit, factors) =>
    expect(unitsOf(variable("x", unit, null), false).map((each) => each.factor)).toEqual(factors));

  it("convert values by factor and offset, or with the air of each cell", () => {
    const [celsius, kelvin] = unitsOf(variable("T", "K", null), false);
    expect(convert(Float32Array.of(273.15), celsius!, null)[0]).toBeCloseTo(0, 3);
    const kept = Float32Array.of(273.15);
    expect(convert(kept, kelvin!, null)).toBe(kept);
    const mass = unitsOf(variable("SA", "mol mol-1", 0.048), true, true).find((each) => each.id === "ug/m3")!;
    const found = convert(Float32Array.of(40e-9, 40e-9), mass, Float32Array.of(41.6, 20.8));
    expect(found[0]).toBeCloseTo(40e-9 * 41.6 * 0.048 * 1e9, 3); // 79.9 ug/m3
    expect(found[1]).toBeCloseTo(found[0]! / 2, 3);
    expect(convert(Float32Array.of(1), mass, null)[0]).toBeNaN();
  });

  test.each([["kg m-2", "kg m⁻²"], ["m3 s-1", "m³ s⁻¹"], ["1", ""], ["ppb", "ppb"], ["10 m", "10 m"]])("%s is written %s", (unit, text) =>
    expect(pretty(unit)).toBe(text));
});

describe("colours", () => {
  it("have 256 of red, green and blue in each table", () => {
    expect(NAMES).toContain("viridis");
    for (const name of NAMES) expect(table(name).length).toBe(3 * COUNT);
    expect([...table("viridis").slice(0, 3)]).toEqual([68, 1, 84]);
  });

  it("of an unknown table are the usual ones", () => expect(table("no such table")).toEqual(table(OTHER)));

  it("run from the first to the last but one in a gradient; the last one is beyond the scale", () => {
    const [low, high] = [table("haze").slice(0, 3), table("haze").slice(-6, -3)];
    const text = gradient("haze");
    expect(text.startsWith(`linear-gradient(to right, rgb(${low.join(" ")})`)).toBe(true);
    expect(text.endsWith(`rgb(${high.join(" ")}))`)).toBe(true);
    expect([0.999, 1, 7].map((each) => colourAt("haze", each))).toEqual(Array(3).fill(`rgb(${table("haze").slice(-3).join(" ")})`));
    const sum = (rgb: Uint8Array) => rgb.reduce((total, each) => total + each, 0);
    expect(sum(table("haze").slice(-3))).toBeLessThan(sum(high) - 40);
  });

  it("of differences have a light middle on a light page, and a dark one on a dark page", () => {
    const middle = (dark: boolean) => table(signedTable(dark))[3 * 128]!;
    expect([middle(false) > 220, middle(true) < 60]).toEqual([true, true]);
  });
});
