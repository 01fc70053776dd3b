// Charts: values at a position, axes, nights, cities near places and along lines.
import { describe, expect, it } from "vitest";
import { bounds, extentOf, heightAxis, scaleOf, textAt, ticksOf } from "../src/charts/axes";
import { nearest, positions, readings, valueOf, type Curve } from "../src/charts/curves";
import { citiesAlong } from "../src/maths/cities";
import { nights, sineOfElevation } from "../src/maths/sun";
import type { City } from "../src/protocol/types";

const CURVE: Curve = { name: "one", colour: "red", points: [[0, 1], [10, 3], [20, NaN], [30, 5]] };
const DOTS: Curve = { name: "dots", colour: "blue", dots: true, points: [[10, 7]] };

describe("the values of curves", () => {
  it("are linear between points, and missing in gaps and outside", () => {
    expect(valueOf(CURVE, 5, "x")).toBe(2);
    expect(valueOf(CURVE, 10, "x")).toBe(3);
    for (const at of [15, 25, -1, 31]) expect(valueOf(CURVE, at, "x")).toBeNaN();
  });

  it("of dots are at the dots alone", () => {
    expect(valueOf(DOTS, 10, "x")).toBe(7);
    expect(valueOf(DOTS, 9, "x")).toBeNaN();
    expect(readings([CURVE, DOTS], 10, "x").map((each) => each.value)).toEqual([3, 7]);
    expect(readings([CURVE, DOTS], 5, "x").map((each) => each.curve.name)).toEqual(["one"]);
  });

  it("of profiles are along the height", () => {
    const profile: Curve = { name: "profile", colour: "red", points: [[40, 10], [60, 30]] };
    expect(valueOf(profile, 20, "y")).toBe(50);
    expect(positions([profile], "y")).toEqual([10, 30]);
  });

  it("are read at the nearest point", () => {
    expect(positions([CURVE, DOTS], "x")).toEqual([0, 10, 30]);
    expect(nearest([0, 10, 30], 21)).toBe(30);
    expect(nearest([], 21)).toBeNull();
  });
});

describe("axes", () => {
  it("extend beyond all points and further values, and not below zero", () => {
    expect(bounds([{ ...CURVE, points: [[0, 1], [1, 101]] }], 1)).toEqual([0, 107]);
    expect(bounds([], 1)).toEqual([0, 1]);
    expect(bounds([], 1, [50, 150])).toEqual([44, 156]);
    expect(extentOf([CURVE], 0)).toEqual([0, 30]);
    expect(extentOf([], 0)).toBeNull();
  });

  it("have heights in metres, then in kilometres", () => {
    const axis = heightAxis(8750, true, 10);
    expect(ticksOf(scaleOf(axis, [0, 1]), axis, 4).map(([, text]) => text)).toEqual(["10 m", "20 m", "50 m", "100 m", "200 m", "500 m", "1 km", "2 km", "5 km"]);
    expect(heightAxis(2000, false, 10).ticks?.map(([at]) => at)).toEqual([0, 500, 1000, 1500, 2000]);
    expect(textAt(1230, axis)).toBe("1.23 km above ground");
  });
});

describe("nights", () => {
  const DAY = [Date.UTC(2022, 7, 31), Date.UTC(2022, 8, 1)] as [number, number];

  it("end with sunrise and begin with sunset: Cologne on 31 August, 4:42 and 18:20 UTC by almanac", () => {
    const [[, sunrise], [sunset]] = nights(DAY, [6.96, 50.94]) as [[number, number], [number, number]];
    const minutes = (time: number) => (time - DAY[0]) / 60_000;
    expect(Math.abs(minutes(sunrise) - (4 * 60 + 42))).toBeLessThanOrEqual(12);
    expect(Math.abs(minutes(sunset) - (18 * 60 + 20))).toBeLessThanOrEqual(12);
  });

  it("are absent from the polar day, fill the polar night, and are not drawn for long spans", () => {
    expect(nights([Date.UTC(2022, 5, 20), Date.UTC(2022, 5, 21)], [20, 80])).toEqual([]);
    const winter: [number, number] = [Date.UTC(2022, 11, 20), Date.UTC(2022, 11, 21)];
    expect(nights(winter, [20, 80])).toEqual([winter]);
    expect(nights([0, 30 * 86_400_000], [0, 0])).toEqual([]);
  });

  it("have the sun highest at noon, at 90 degrees less latitude plus declination", () => {
    expect(sineOfElevation(Date.UTC(2022, 5, 21, 12, 2), 0, 50)).toBeCloseTo(Math.sin((63.44 * Math.PI) / 180), 3);
  });
});

describe("cities along a line", () => {
  const city = (name: string, lon: number, lat: number): City => ({ name, also: "", lon, lat, x: lon, y: lat, population: 1 });
  const all = [city("Paris", 2.35, 48.86), city("Cologne", 6.96, 50.94), city("Lille", 3.06, 50.63)];

  it("are in their order along a line, within a distance of it", () => {
    const found = citiesAlong([2, 48.5], [7.3, 51.2], all, 20);
    expect(found.map((each) => each.name)).toEqual(["Paris", "Cologne"]);
    expect(found[0]!.part).toBeLessThan(found[1]!.part);
    expect(citiesAlong([2, 48.5], [2, 48.5], all, 20)).toEqual([]);
  });
});
