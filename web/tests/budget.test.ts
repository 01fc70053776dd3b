import { describe, expect, it, test } from "vitest";
import type { SummaryTable } from "../src/protocol/types";
import { budgeted, landBalances, massUnit, speciesBalance } from "../src/state/budget";
import { field } from "./samples";

const COLUMNS = ["species", "inflow", "outflow", "emitted", "deposited", "chemistry", "clipped", "change", "residual"];
const AIR: SummaryTable[] = [
  { title: "Main budgets [million mol]", columns: COLUMNS, rows: [["NO2", 1, 1, 1, 1, 1, 1, 1, 1]], note: "" },
  { title: "Budgets of species [mol]", columns: COLUMNS, rows: [["NO2", 4e6, 3e6, 2e6, 1e6, -1e6, 0, 1e6, 1e-7], ["X", 10, 0, 0, 0, 0, 0.5, 10.5, 0.2]], note: "" },
];
const NO2 = field("NO2", { molar_mass: 0.046, title: "Nitrogen dioxide" });

describe("the budget of a species", () => {
  const found = speciesBalance(AIR, NO2, false)!;
  it("is in tonnes", () => expect([found.unit, found.terms.map((each) => Number(each.value.toFixed(6)))]).toEqual(["t", [184, -138, 92, -46, -46]]));
  it("adds up to the change", () => expect(found.terms.reduce((sum, each) => sum + each.value, 0)).toBeCloseTo(found.change, 9));
  it("gives terms that take from the amount a negative sign", () => expect(found.terms.find((each) => each.name === "Out")?.value).toBeLessThan(0));
  it("explains each term in one short sentence", () => {
    for (const each of found.terms) expect(each.explanation).toMatch(/^[A-Z][^.]{10,90}\.$/);
  });
  it("has a check", () => expect(found.check).toContain("billionth"));
  it("is in moles on request, and without a molar mass", () => {
    expect(speciesBalance(AIR, NO2, true)?.unit).toBe("thousand mol");
    const other = speciesBalance(AIR, field("X", { molar_mass: null }), false)!;
    expect([other.unit, other.terms.at(-1)?.name, other.check]).toEqual(["mol", "Rounding", "Check: the terms add up to the change, to 1.9 %."]);
  });
  it("is missing for other fields", () => expect(speciesBalance(AIR, field("rain"), false)).toBeNull());
});

test("the fields with a budget are those of the table", () => expect(budgeted(AIR)).toEqual(["NO2", "X"]));

test.each([[5, "kg"], [5e3, "t"], [3e6, "t"], [3e7, "kt"], [2e10, "Mt"]])("%d kg are in %s", (kilograms, unit) => {
  const [found, factor] = massUnit(kilograms);
  expect(found).toBe(unit);
  expect(kilograms * factor).toBeLessThan(1e4);
});

test("balances of land have their units and signs", () => {
  const tables = [{ title: "Balance of water, mean over the land [mm]", columns: ["term", "mm"], rows: [["rain", 12], ["runoff", -2], ["other", -1], ["change in store", 9]], note: "Largest residual: 1e-16" }];
  const [found] = landBalances([...tables, ...AIR] as SummaryTable[]);
  expect([found?.title, found?.unit, found?.change, found?.terms.length]).toEqual(["Balance of water, mean over the land", "mm", 9, 3]);
  expect(found?.terms[2]).toEqual({ name: "other", explanation: "", value: -1 });
});
