import { describe, expect, it, test } from "vitest";
import type { LogEntry } from "../src/protocol/types";
import type { Lever } from "../src/state/levers";
import { commandText, entryText } from "../src/state/log_words";
import { field } from "./samples";

const LEVER: Lever = { path: "emissions.scale", text: "{}", hint: "", kind: "factors", keys: { DE: ["country", "Germany"], F_RoadTransport: ["sector", "Road transport"] } };
const CONTEXT = { levers: [LEVER], variables: [field("O3", { title: "Ozone", formula: "O₃" }), field("SO2", { title: "Sulphur dioxide", formula: "SO₂" })], placeName: () => "Cologne" };

const SET = { kind: "set", changes: { "emissions.scale.DE/F_RoadTransport": 0.5 } };

test("an entry states its author, its change and its hour", () => {
  const entry = { number: 0, step: 3, seconds: 6 * 3600, author: "Anna", command: SET } as LogEntry;
  expect(entryText(entry, "2022-08-31T00:00:00Z", CONTEXT)).toBe("Anna: Road transport −50 %, Germany, from 31 Aug 06:00");
});

describe("a command in words", () => {
  it.each([
    [{ kind: "release", species: "SO2", lon: 7, lat: 51, rate: 10, unit: "kg/s", duration: 3600 }, "Release of 10 kg/s Sulphur dioxide SO₂ for 1 h, Cologne"],
    [{ kind: "paint", variable: "O3", value: 2, operation: "multiply", polygon: [[0, 0]] }, "Ozone O₃ multiplied by 2 in a drawn area"],
    [{ kind: "paint", variable: "O3", value: 2e-9, operation: "set" }, "Ozone O₃ set to 2·10⁻⁹ mol mol⁻¹ in a drawn area"],
    [{ kind: "restart" }, "Return to the start"], [{ kind: "restore", snapshot: "s1" }, "Return to an earlier state"],
    [{ ...SET, kind: "branch" }, "Branch: Road transport −50 %, Germany"], [{ kind: "branch", changes: {} }, "Branch without changes"],
    [{ kind: "set", changes: { "chemistry.sweeps": 3 } }, "chemistry sweeps = 3"],
  ])("of %j", (command, expected) => expect(commandText(command, CONTEXT)).toBe(expected));

  it("contains no JSON", () => {
    expect(commandText({ kind: "set", changes: { "a.b": { c: 1 } } }, CONTEXT)).not.toMatch(/[{}"]/);
  });
});
