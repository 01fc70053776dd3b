// Stations: values at the displayed hour, units, dots on the map, and the order of the table.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { radiusOf, colourOf, drawStations, stationAt } from "../src/map/stations";
import type { StationList, StationPairs } from "../src/protocol/types";
import * as stations from "../src/state/stations";
import { http, infos } from "../src/state/store";
import { momentOf, showNearest } from "../src/state/times";
import { look, showTime, view } from "../src/state/view";
import { sorted, type Row } from "../src/ui/panels/StationTable";
import { field, model, Pen, reach, receive, see } from "./samples";

const STATION = { id: "A", name: "Adorf", lon: 0.5, lat: 50.5, x: 0.5, y: 50.5, altitude: 10, area: "rural", type: "background", network: "", scored: true, pollutants: ["O3"] };
const LIST: StationList = { stations: [STATION, { ...STATION, id: "B", name: "Bdorf", pollutants: ["NO2"] }], pollutants: [{ name: "O3", unit: "ug/m3", factor: 2e9 }], files: ["a.csv"], problem: null };
const PAIRS: StationPairs = {
  variable: "O3", unit: "ug/m3",
  series: [{ station: "A", begin: [0, 3600, 7200], end: [3600, 7200, 86400], observed: [80, 90, 70], modelled: [84, null, 60] }],
};
const CAMERA = { lon: 0.5, lat: 50.5, scale: 64, width: 400, height: 400 };

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

const values = new Array(8).fill(4e-8) as number[];

beforeEach(async () => {
  see({ variable: "O3", unit: "ppb", panel: "stations" });
  infos.value = { main: model([field("O3"), field("CO")]) };
  reach(3600);
  receive("main", 3600, values, { shape: [2, 4] });
  vi.spyOn(http, "get").mockImplementation((path: string) =>
    Promise.resolve((path.includes("/pairs") ? PAIRS : path.includes("/scores") ? { variable: "O3", unit: "ug/m3", until: 3600, scores: [] } : LIST) as never));
  stations.followStations();
  await settled();
});

describe("stations at the displayed hour", () => {
  it("include only stations that observe the field, with the means of the hour that ends then", () => {
    showTime(3600);
    expect(stations.atHour.value.map((each) => each.station.id)).toEqual(["A"]);
    expect(stations.atHour.value[0]).toMatchObject({ at: [0.5, 50.5], observed: 40, modelled: 42 });
  });

  it("have no value where the model has none, before the first hour, and from means over more than three hours", () => {
    showTime(5000);
    expect(stations.atHour.value[0]?.observed).toBe(45);
    expect(stations.atHour.value[0]?.modelled).toBeNaN();
    for (const at of [0, 8000]) {
      showTime(at);
      expect(stations.atHour.value[0]?.observed).toBeNaN();
    }
  });

  it("are none of a field that no station observes", () => {
    look({ variable: "CO" });
    expect(stations.pollutant.value).toBeNull();
    expect(stations.atHour.value).toEqual([]);
  });
});

describe("units of stations", () => {
  it("are those of the map for observation and model alike", () => {
    expect(stations.shownUnit.value).toBe("ppb");
    expect(stations.inShownUnit(80)).toBe(40);
    expect(stations.inShownUnit(null)).toBeNaN();
  });
});

describe("dots", () => {
  const readings = [{ station: STATION, at: [0.5, 50.5] as const, observed: 40, modelled: 42 }];

  it("are found under the pointer, and nowhere else", () => {
    expect(stationAt(readings, [0.5, 50.5], CAMERA)).toBe("A");
    expect(stationAt(readings, [0.5, 50.9], CAMERA)).toBeNull();
  });

  it("are grey without a value, and larger in a closer view", () => {
    expect(colourOf(NaN, { low: 0, high: 100, log: false }, "viridis")).toBe("#8b929c");
    expect(colourOf(40, { low: 0, high: 100, log: false }, "viridis")).toMatch(/^rgb/);
    expect(radiusOf({ ...CAMERA, scale: 500 })).toBeGreaterThan(radiusOf(CAMERA));
  });

  it("have two rings around the colour", () => {
    const pen = new Pen();
    drawStations(pen.context, readings, { low: 0, high: 100, log: false }, "viridis", null, CAMERA);
    const radii = pen.of("arc").map((each) => each[2]!);
    expect(radii).toEqual([...radii].sort((one, other) => other - one));
    expect(radii.length).toBe(3);
  });
});

describe("a click on a dot", () => {
  it("opens the panel with the series of the station, which the address has", () => {
    look({ panel: "fields" });
    stations.chooseStation("A");
    expect(view.value).toMatchObject({ station: "A", panel: "stations" });
    stations.chooseStation(null);
    expect(view.value.station).toBeNull();
  });
});

describe("the table of stations", () => {
  const row = (name: string, bias: number, r: number): Row => ({ id: name, name, kind: "", hours: 1, bias, r, rmse: Math.abs(bias) });

  it("has names from A to Z, the largest errors first, and missing values last", () => {
    const rows = [row("b", -9, 0.5), row("a", 3, NaN), row("c", 1, 0.9)];
    expect(sorted(rows, "name").map((each) => each.name)).toEqual(["a", "b", "c"]);
    expect(sorted(rows, "bias").map((each) => each.name)).toEqual(["b", "a", "c"]);
    expect(sorted(rows, "r").map((each) => each.name)).toEqual(["c", "b", "a"]);
  });
});

describe("the time of a chart", () => {
  it("is that of the nearest stored frame; the last one is the present", () => {
    for (const seconds of [7200, 10800]) receive("main", seconds, values, { shape: [2, 4] });
    showNearest(momentOf(7000));
    expect(view.value.at).toBe(7200);
    showNearest(momentOf(99999));
    expect(view.value.at).toBeNull();
  });
});

describe("a verdict", () => {
  const hours = (days: number) => Array.from({ length: days }, (_, k) => 86400 * k);
  const series = (station: string, days: number) =>
    ({ station, begin: hours(days), end: hours(days).map((each) => each + 3600), observed: hours(days).map(() => 80), modelled: hours(days).map(() => 84) });
  const many = (count: number, days: number) => Array.from({ length: count }, (_, k) => series(String(k), days));

  it.each([[1, 1, "1 station, 1 day: no verdict"], [4, 30, "4 stations, 30 days: no verdict"], [9, 9, "9 stations, 9 days: no verdict"], [5, 10, ""]])(
    "of %d stations and %d days", (count, days, words) => expect(stations.noVerdict(many(count, days), Infinity)).toBe(words));

  it("counts the hours until the displayed one that both have", () => {
    expect(stations.noVerdict(many(5, 10), 3600)).toBe("5 stations, 1 day: no verdict");
    expect(stations.noVerdict(PAIRS.series.map((each) => ({ ...each, modelled: [null, null, null] })), Infinity)).toBe("0 stations, 0 days: no verdict");
  });
});
