import { afterEach, describe, expect, it } from "vitest";
import { amountUnit, choices, origin, receptor, species, where } from "../src/state/origin";
import { infos } from "../src/state/store";
import { look } from "../src/state/view";
import { field, model } from "./samples";

const made = () => ({ ...model([field("NO2"), field("O3"), field("air_temperature")]), species: ["NO2", "O3"] });

const before = origin.value;

afterEach(() => {
  origin.value = before;
  receptor.value = "";
  look({ places: [] });
});

describe("the question for sources", () => {
  it("is about the last marked place until another one is chosen", () => {
    infos.value = { main: made() };
    look({ places: [[1, 2], [3, 4]] });
    expect(choices.value.slice(0, 2).map((each) => each.id)).toEqual(["place 2", "place 1"]);
    expect(where.value?.at).toEqual([3, 4]);
    receptor.value = "place 1";
    expect(where.value?.at).toEqual([1, 2]);
    receptor.value = "Atlantis";
    expect(where.value?.at).toEqual([3, 4]);
  });

  it("is about a species of the model", () => {
    infos.value = { main: made() };
    look({ variable: "air_temperature" });
    expect(species.value).toBe("O3");
    look({ variable: "NO2" });
    expect(species.value).toBe("NO2");
  });

  it("has small contributions in ppt", () => {
    expect(amountUnit(1e-9)).toEqual({ factor: 1e9, label: "ppb" });
    expect(amountUnit(-1e-12)).toEqual({ factor: 1e12, label: "ppt" });
  });
});
