import { describe, expect, it } from "vitest";
import { changeOf, spread } from "../src/state/analysis";
import type { Analysis, AnalysisControl } from "../src/protocol/types";

const control = (change: Partial<AnalysisControl>): AnalysisControl => ({
  name: "nox", text: "factor", unit: "1", kind: "map", names: [], before: [1, 1], after: [1.5, 0.5], spread: [], ...change,
});
const station = (before: number, after: number, observations: number, withheld = false) => ({
  station: "a", species: "NO2", unit: "ppb", lon: 0, lat: 0, observations, before, after, mean_before: before, mean_after: after, withheld,
});

describe("an analysis", () => {
  it("has the change of a factor relative to the one before, and of an increment as a difference", () => {
    expect([...changeOf(control({}))]).toEqual([0.5, -0.5]);
    expect([...changeOf(control({ unit: "mol mol-1", before: [0, 1], after: [2, 4] }))]).toEqual([2, 3]);
  });

  it("has the error of all stations, weighted by their observations, without the withheld ones", () => {
    const of = { stations: [station(3, 1, 1), station(1, 1, 3), station(9, 9, 5, true)] } as unknown as Analysis;
    const used = spread(of, false);
    expect(used.count).toBe(4);
    expect(used.before).toBeCloseTo(Math.sqrt(3));
    expect(used.after).toBeCloseTo(1);
    expect(spread(of, true)).toEqual({ count: 5, before: 9, after: 9 });
  });
});
