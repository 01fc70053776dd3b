import { afterEach, expect, test } from "vitest";
import { favourites, recentField, rememberField, toggleFavourite } from "../src/state/favourites";
import { fieldText, formulaOf, found, grouped, inOrder, titleOf } from "../src/state/fields";
import { field } from "./samples";

const named = (name: string, title: string, formula: string, topic: string, keywords = "") => field(name, { title, formula, topic, keywords });
const FIELDS = [
  named("NO", "Nitric oxide", "NO", "Pollutants"), named("NO2", "Nitrogen dioxide", "NO₂", "Pollutants", "traffic"),
  named("O3", "Ozone", "O₃", "Pollutants"), named("OH", "Hydroxyl", "OH", "Radicals"), named("N2O", "Nitrous oxide", "N₂O", "Other gases", "laughing gas"),
  named("SA", "Sulphate", "SO₄", "Particles", "fine dust"), named("rain", "Rain of the day", "", "Weather"),
];

const names = (search: string) => found(FIELDS, search).map((each) => each.name);

afterEach(() => (favourites.value = []));

test("a search finds words, symbols, formulae and keywords", () => {
  expect(names("ozone")).toEqual(["O3"]);
  expect(names("no2")).toEqual(["NO2"]);
  expect(names("NO₂")).toEqual(["NO2"]);
  expect(names("fine dust")).toEqual(["SA"]);
  expect(names("laughing")).toEqual(["N2O"]);
  expect(names("zzz")).toEqual([]);
  expect(names("")).toHaveLength(FIELDS.length);
});

test("a symbol comes before parts of other names", () => {
  expect(names("no")[0]).toBe("NO");
  expect(names("nitr")[0]).toBe("NO");
  expect(names("traffic")).toEqual(["NO2"]);
});

test("groups have a fixed order, and favourites come first", () => {
  expect(grouped(FIELDS, []).map((each) => each.title)).toEqual(["Pollutants", "Particles", "Weather", "Other gases", "Radicals"]);
  const [first] = grouped(FIELDS, ["OH"]);
  expect(first?.title).toBe("Favourites");
  expect(first?.fields.map((each) => each.name)).toEqual(["OH"]);
});

test("the fields that a model shows first come first", () => {
  expect(inOrder(FIELDS, ["O3", "NO2"]).map((each) => each.name).slice(0, 3)).toEqual(["O3", "NO2", "NO"]);
});

test("an unknown species has its symbol as formula, other fields have none", () => {
  const unknown = field("XYZ", { title: "Something", formula: "", group: "species" });
  expect(fieldText(unknown)).toBe("Something XYZ");
  expect(formulaOf(FIELDS.at(-1)!)).toBe("");
  expect(titleOf(field("A", { text: "depth" }))).toBe("depth");
});

test("favourites are added and removed, and the last field of a model is stored", () => {
  const stored = new Map<string, string>();
  globalThis.localStorage = { getItem: (key: string) => stored.get(key) ?? null, setItem: (key: string, value: string) => void stored.set(key, value) } as Storage;
  toggleFavourite("O3");
  expect(favourites.value).toEqual(["O3"]);
  toggleFavourite("O3");
  expect(favourites.value).toEqual([]);
  rememberField("air", "NO2");
  rememberField("pasture", "rain");
  rememberField("air", "O3");
  expect([recentField("air"), recentField("pasture"), recentField("box")]).toEqual(["O3", "rain", null]);
});
