// Names of scenarios are those of the server: tests/serve/scenario_names.json has samples for both.
import { expect, test } from "vitest";
import "./browser";
import { asOptions, asToml, leversOf, nameOfChanges, valuesByPath, type Lever } from "../src/state/levers";
import { sameGrid } from "../src/state/compared";
import { nameIn } from "../src/state/run_names";
import { countryOf, patchOf, startOf, type Change } from "../src/state/scenario";
import { catchingUp } from "../src/state/together";
import names from "../../tests/serve/scenario_names.json";
import { gridInfo } from "./samples";
import words from "../../tests/serve/levers.json";
import type { GridInfo, SessionState, SnapshotInfo } from "../src/protocol/types";

type Words = Record<string, { text: string; keys?: Lever["keys"] }>;

const levers: Lever[] = Object.entries(words as unknown as Words).map(([path, { text, keys = {} }]) => ({
  path, text, keys, hint: "", kind: Object.keys(keys).length ? "factors" : path === "emissions.biogenic" ? "switch" : "number",
}));
const samples = names as unknown as { changes: Record<string, unknown>; before?: Record<string, unknown>; name: string }[];

test.each(samples)("the page names $name as the server does", ({ changes, before = {}, name }) => {
  expect(nameOfChanges(changes, levers, before)).toBe(name);
});

test("levers come from the schema of the case", () => {
  const schema = { properties: {
    emissions: { properties: { scale: { type: "object", "x-lever": { text: "{}", keys: { DE: ["country", "Germany"] } } }, year: { type: "integer" } } },
    trees: { properties: { on: { anyOf: [{ type: "boolean" }, { type: "null" }], "x-lever": { text: "Trees", hint: "They drink." } } } },
  } };
  expect(leversOf(schema).map(({ path, kind }) => [path, kind])).toEqual([["emissions.scale", "factors"], ["trees.on", "switch"]]);
  expect(valuesByPath({ a: { b: 1, c: { d: true } } })).toEqual({ "a.b": 1, "a.c.d": true });
});

const change = (given: Partial<Change>): Change => ({ path: "emissions.scale", keys: {}, percent: -50, on: true, ...given });

test("amounts come before switches", () => {
  const on = { type: "boolean", "x-lever": { text: "Trees" } };
  const schema = { properties: { trees: { properties: { on } }, grazing: { properties: { supplement: on, stocking_rate: { type: "number", "x-lever": { text: "Stocking rate" } } } } } };
  expect(leversOf(schema)[0]?.path).toBe("grazing.stocking_rate");
});

test("a patch has factors relative to the present ones", () => {
  const traffic = change({ keys: { sector: "F_RoadTransport", country: "DE" }, percent: -80 });
  expect(patchOf([traffic], levers, {})).toEqual({ "emissions.scale.DE/F_RoadTransport": 0.2 });
  expect(patchOf([traffic], levers, { "emissions.scale.DE/F_RoadTransport": 0.5 })).toEqual({ "emissions.scale.DE/F_RoadTransport": 0.1 });
  expect(patchOf([traffic, traffic], levers, {})).toEqual({ "emissions.scale.DE/F_RoadTransport": 0.04 });
  expect(patchOf([change({ path: "emissions.biogenic", on: false })], levers, {})).toEqual({ "emissions.biogenic": false });
  expect(patchOf([change({ path: "grazing.stocking_rate", percent: 50 })], levers, { "grazing.stocking_rate": 0.1 })).toEqual({ "grazing.stocking_rate": 0.15 });
  expect(countryOf({ "emissions.scale.DE/F_RoadTransport": 0.2 }, levers)).toBe("Germany");
  expect(countryOf({ "emissions.scale.F_RoadTransport": 0.2 }, levers)).toBe("");
});

test("changes become lines of a case file and options", () => {
  const changes = { "emissions.scale.DE/F_RoadTransport": 0.2, "emissions.biogenic": false, "deposition.velocities": { O3: "1 cm/s" } };
  expect(asToml(changes)).toBe('emissions.scale."DE/F_RoadTransport" = 0.2\nemissions.biogenic = false\ndeposition.velocities = { O3 = "1 cm/s" }');
  expect(asOptions({ "emissions.scale.DE/F_RoadTransport": 0.2 })).toBe("--set 'emissions.scale.DE/F_RoadTransport=0.2'");
});

const state = (given: Partial<SessionState>): SessionState => ({ session: "main", title: "", case: "", scenario: "", seconds: 0, ...given }) as SessionState;

test("a run is named by its scenario", () => {
  const all = { main: state({}), b1: state({ session: "b1", parent: "main", scenario: "Wind off" }), b2: state({ session: "b2", parent: "b1" }) };
  expect(["main", "b1", "b2", "gone"].map((each) => nameIn(all, each))).toEqual(["Base run", "Wind off", "Copy of Wind off", "gone"]);
  expect(nameIn({ ...all, b3: state({ session: "b3", title: "Queensland" }) }, "b3")).toBe("Queensland");
  const day = { ...all, recorded: state({ session: "recorded", recorded: true }) };
  expect(["recorded", "main", "b1"].map((each) => nameIn(day, each))).toEqual(["Recorded day", "Live run", "Wind off"]);
});

test("the earlier run catches up", () => {
  const [one, other] = [state({ seconds: 3600 }), state({ session: "b1", seconds: 0 })];
  expect(catchingUp([one, other])).toEqual({ session: "b1", until: 3600 });
  expect(catchingUp([one, state({ session: "b1", seconds: 3600 })])).toBeNull();
  expect(catchingUp([one])).toBeNull();
});

test("the whole day is compared from its start", () => {
  const snapshot = (name: string, text: string): SnapshotInfo => ({ snapshot: name, text, step: 0, seconds: 0, time: "", bytes: 0, change: null });
  const [start, day] = [snapshot("start", "the start of the case"), snapshot("s0", "the start of the day")];
  expect(startOf([start, day])?.snapshot).toBe("s0");
  expect(startOf([start])?.snapshot).toBe("start");
  expect(startOf([])).toBeNull();
});

test("runs on other cells are not compared", () => {
  const grid = (west: number, kind = "lonlat") => ({ ...gridInfo([west, west + 1], [50, 51]), kind }) as GridInfo;
  expect([grid(0), grid(1e-6), grid(0.1), grid(0, "projected")].map((each) => sameGrid(grid(0), each))).toEqual([true, true, false, false]);
});
