import { describe, expect, it } from "vitest";
import { bulk, predicted, ranking, reach, sums, type Row } from "../src/maths/sources";

const row = (change: Partial<Row>): Row => ({
  kind: "emission", source: "inventory", country: "", sector: "", sector_text: "", pollutant: "", value: 1, scale: "", ...change,
});
const road = { sector: "F_RoadTransport", sector_text: "Road transport" };
const ROWS: Row[] = [
  row({ ...road, country: "DE", pollutant: "NOx", value: -3, scale: "DE/F_RoadTransport/NOx" }),
  row({ ...road, country: "DE", pollutant: "NMVOC", value: 1, scale: "DE/F_RoadTransport/NMVOC" }),
  row({ ...road, country: "FR", pollutant: "NOx", value: -0.5, scale: "FR/F_RoadTransport/NOx" }),
  row({ source: "vegetation", pollutant: "ISOPRE", value: 2 }),
  row({ kind: "side", source: "west", pollutant: "O3", value: 20 }),
  row({ kind: "side", source: "west", pollutant: "CO", value: 1 }),
  row({ kind: "initial", source: "initial air", pollutant: "O3", value: 4 }),
  row({ kind: "deposition", source: "dry deposition", pollutant: "O3", value: -9 }),
];
const plain = (name: string) => name;

describe("the ranking of sources", () => {
  it("has the largest source first, and sums the air of a side over its species", () => {
    const found = ranking(ROWS, "source", plain);
    expect(found.map((each) => each.name)).toEqual([
      "Air from the west", "Dry deposition", "Air at the start", "Road transport, NOx, DE", "Vegetation, ISOPRE",
      "Road transport, NMVOC, DE", "Road transport, NOx, FR",
    ]);
    expect(found[0]!.value).toBe(21);
  });

  it("joins sources, and names the setting that changes all of them", () => {
    const by = (grouping: Parameters<typeof ranking>[1]) =>
      Object.fromEntries(ranking(ROWS, grouping, plain).map((each) => [each.scale, each.value]).filter(([scale]) => scale));
    expect(by("sector")).toEqual({ F_RoadTransport: -2.5 });
    expect(by("country")).toEqual({ DE: -2, FR: -0.5 });
    expect(by("pollutant")).toEqual({ NOx: -3.5, NMVOC: 1 });
    expect(by("source")).toEqual({ "DE/F_RoadTransport/NOx": -3, "DE/F_RoadTransport/NMVOC": 1, "FR/F_RoadTransport/NOx": -0.5 });
  });

  it("prefills a scenario with the parts of a source", () => {
    const [line] = ranking(ROWS, "sector", plain).filter((each) => each.scale);
    expect(line!.parts).toEqual({ sector: "F_RoadTransport" });
    expect(ranking(ROWS, "source", plain).find((each) => each.scale)!.parts).toEqual({ country: "DE", sector: "F_RoadTransport", pollutant: "NOx" });
  });

  it("has sums by kind", () => {
    expect(sums(ROWS)).toEqual({ emission: -0.5, side: 21, top: 0, initial: 4, deposition: -9 });
  });
});

describe("numbers of sources", () => {
  it("predicts the change by a cut: less of a source that raises a value lowers it", () => {
    expect(predicted(10, 0.8)).toBeCloseTo(-2);
    expect(predicted(-10, 0.8)).toBeCloseTo(2);
  });

  it("has a range of colours for most cells, not for single large ones", () => {
    const values = Float32Array.from({ length: 200 }, (_, k) => (k < 2 ? -1000 : 1 + k / 200));
    expect(bulk(values)).toBeLessThan(3);
    expect(bulk(values, 1)).toBe(1000);
    expect(bulk(new Float32Array(4))).toBe(0);
  });

  it("has the hours before nine tenths come", () => {
    const hours = [{ hours: 3, value: 0.05 }, { hours: 2, value: -0.45 }, { hours: 1, value: 0.5 }];
    expect(reach(hours)).toBe(2);
    expect(reach([])).toBe(0);
  });
});
