import { describe, expect, it, test } from "vitest";
import { direction, distance } from "../src/maths/sphere";
import type { City } from "../src/protocol/types";
import { citiesNamed, coordinatesOf, inside } from "../src/state/goto";
import { highest, highestOf } from "../src/state/highest";
import { nameNear, nearestCity } from "../src/state/place_names";

const city = (name: string, lon: number, lat: number, also = ""): City => ({ name, also, lon, lat, x: lon, y: lat, population: 1e6 });
const CITIES = [city("Paris", 2.35, 48.85), city("Cologne", 6.95, 50.93, "Köln"), city("Portsmouth", -1.09, 50.8)];

describe("the name of a place", () => {
  it.each([
    [[6.96, 50.94], "Cologne"], [[7.08, 51.01], "13 km NE of Cologne"], [[2.35, 48.6], "28 km S of Paris"], [[1.5, 48.85], "62 km W of Paris"],
    [[-60, 10], "10.00° N, 60.00° W"],
  ] as const)("of %j is %s", (at, name) => expect(nameNear(CITIES, at)).toBe(name));

  it("is its coordinates without cities", () => expect(nameNear([], [6, 50])).toBe("50.00° N, 6.00° E"));

  it("crosses the date line", () => {
    const fiji = [city("Suva", 178.44, -18.14)];
    expect(nearestCity(fiji, [-179, -18.14])?.away).toBeLessThan(280);
    expect(nameNear(fiji, [-179, -18.14])).toBe("270 km E of Suva");
  });
});

test.each([[[0, 1], "N"], [[1, 0], "E"], [[0, -1], "S"], [[-1, 0], "W"], [[-1, 1], "NW"], [[1, -1], "SE"]] as const)(
  "the direction to %j is %s", (to, expected) => expect(direction([0, 0], to)).toBe(expected));

test("distances are those of great circles", () => expect(distance([0, 0], [0, 90])).toBeCloseTo(10007.5, 0));

describe("a search for a city", () => {
  const names = (text: string) => citiesNamed(CITIES, text).map((each) => each.name);
  it("begins with the start of a name", () => expect(names("p")).toEqual(["Paris", "Portsmouth"]));
  it("finds parts and other names, without accents", () => {
    expect(names("mouth")).toEqual(["Portsmouth"]);
    expect(names("koln")).toEqual(["Cologne"]);
    expect(names("Köln")).toEqual(["Cologne"]);
  });
  it("finds nothing for another name", () => expect(names("xyz")).toEqual([]));
});

test("coordinates are latitude and longitude", () => {
  expect(coordinatesOf("50.9, 6.9")).toEqual([6.9, 50.9]);
  expect(coordinatesOf("-27.5 153")).toEqual([153, -27.5]);
  expect(coordinatesOf("Paris")).toBeNull();
  expect(coordinatesOf("95, 3")).toBeNull();
});

describe("the maximum of a series", () => {
  const at = (hour: number) => Date.UTC(2022, 7, 31, hour);
  const points = [[at(6), 20], [at(15), 131.2], [at(18), NaN], [at(20), 80]] as const;
  it("has its hour", () => expect(highestOf(points, "µg/m³")).toEqual({ text: "Highest 131 µg/m³", time: at(15) }));
  it("needs more than one time", () => expect(highestOf(points.slice(0, 1), "ppb")).toBeNull());
  it("passes over missing values", () => {
    expect(highest([[0, NaN]])).toBeNull();
    expect(highest(points)).toEqual([at(15), 131.2]);
  });
});

test.each([[7, 10, 5], [7, 4, 7], [1, 4, 2], [9.5, 4, 8]])("a window around %s of length %s is in the middle at %s", (at, length, expected) => {
  expect(inside(at, 0, 10, length)).toBe(expected);
});
