// Stored state of the page: past frames, the view in the address, and entered settings.
import { beforeEach, describe, expect, it, test } from "vitest";
import type { ModelInfo } from "../src/protocol/types";
import { Past } from "../src/state/past";
import { distance } from "../src/maths/sphere";
import { added, enter, forget, groups, knobs, pending, tables } from "../src/state/settings";
import { infos } from "../src/state/store";
import { look, read, VERSION, view, written } from "../src/state/view";
import { frame, gridInfo, schema, variable } from "./samples";

describe("past frames", () => {
  const seconds = (past: Past) => past.frames.map((each) => each.header.seconds);

  function filled(...times: number[]): Past {
    const past = new Past();
    for (const each of times) past.add(frame(each));
    return past;
  }

  it("are in the order of their times", () => expect(seconds(filled(0, 60, 120))).toEqual([0, 60, 120]));

  it("are discarded where the run returns to an earlier time, or repeats a time", () => {
    expect(seconds(filled(0, 60, 120, 60))).toEqual([0, 60]);
    expect(seconds(filled(0, 60, 60))).toEqual([0, 60]);
    expect(seconds(filled(0, 60, 0))).toEqual([0]);
  });

  it("are of one variable and level", () => {
    const past = filled(0, 60);
    past.add(frame(120, { level: 1 }));
    expect(seconds(past)).toEqual([120]);
    past.add(frame(180, { level: 1, variable: "NO2" }));
    expect(seconds(past)).toEqual([180]);
  });

  it("are found at or before a time, else the first", () => {
    const past = filled(60, 120, 180);
    expect(past.at(150)?.header.seconds).toBe(120);
    expect(past.at(120)?.header.seconds).toBe(120);
    expect(past.at(0)?.header.seconds).toBe(60);
    expect(new Past().at(0)).toBeNull();
  });

  it("of two runs have a latest common time, or none", () => {
    expect(filled(0, 60, 120).together(filled(60, 90))).toBe(60);
    expect(filled(0).together(filled(60))).toBeNull();
  });

  it("are at most 400, and fewer when they are large", () => {
    const past = filled(...Array.from({ length: 500 }, (_, k) => k));
    expect(past.frames.length).toBe(400);
    expect(past.frames[0]?.header.seconds).toBe(100);
    const large = new Past();
    for (let k = 0; k < 5; k++) large.add({ header: frame(k).header, values: { byteLength: 40e6 } as Float32Array });
    expect(large.frames.length).toBe(2);
  });
});

describe("recorded frames", () => {
  const recorded = (seconds: number, value = seconds) =>
    frame(seconds, { subscription: null, range: [0, value] } as never, Float32Array.of(value, 0));
  const live = (seconds: number) => frame(seconds, { subscription: "map:main" } as never);
  const seconds = (past: Past) => past.frames.map((each) => each.header.seconds);

  it("fill the times that were not watched, in order, and none twice", () => {
    const past = new Past();
    past.add(live(120));
    past.merge([recorded(0), recorded(60), recorded(120), recorded(180)]);
    expect(seconds(past)).toEqual([0, 60, 120, 180]);
    expect(past.at(120)?.header.subscription).toBe("map:main");
  });

  it("replace frames of another field, and are replaced by them", () => {
    const past = new Past();
    past.add(frame(0, { variable: "NO2" }));
    past.merge([recorded(60)]);
    expect(seconds(past)).toEqual([60]);
    past.merge([]);
    expect(seconds(past)).toEqual([60]);
  });

  it("outlast the frames between them where memory is short", () => {
    const past = new Past();
    past.merge([recorded(-2), recorded(-1)]);
    for (let k = 0; k < 500; k++) past.add(live(k));
    expect(past.frames.length).toBe(400);
    expect(seconds(past).slice(0, 3)).toEqual([-2, -1, 102]);
  });

  it("are linear in between", () => {
    const past = new Past();
    past.merge([recorded(0, 4), recorded(100, 8)]);
    expect([...past.between(25)!.values]).toEqual([5, 0]);
    expect(past.between(25)!.header.seconds).toBe(25);
    expect(past.between(0)).toBe(past.frames[0]);
    expect(past.between(500)).toBe(past.frames[1]);
    expect(new Past().between(0)).toBeNull();
  });

  it("have extremes, of records alone", () => {
    const past = new Past();
    past.merge([recorded(0, 4)]);
    expect(past.extremes).toEqual([]);
    past.merge([recorded(60, 9)]);
    past.add(live(90));
    expect(past.extremes).toEqual([0, 4, 0, 9]);
  });
});

describe("the view in the address", () => {
  beforeEach(() => {
    view.value = read(written({ ...view.value }))!;
    look({ variable: "", level: 0, places: [], range: null, wind: "none" });
  });

  it("has a default, which an address without changes means", () => {
    expect(read('#view={"version":1}')).toEqual({
      version: 1, session: "main", at: null, variable: "", level: 0, unit: null, colours: null, log: null, range: null, span: null, smooth: false,
      contours: false, lines: true, cities: true, wind: "none", camera: null, places: [], line: null, station: null, other: null,
      compare: "beside", swipe: 0.5, speed: null, panel: "fields", theme: "auto",
    });
  });

  it("holds differences from the default only, and reads back the same", () => {
    look({ variable: "O3", level: 2, places: [[7.5, 50.2]], range: [0, 80], wind: "arrows" });
    const text = written(view.value);
    expect(JSON.parse(decodeURIComponent(text.slice("#view=".length)))).toEqual({
      version: VERSION, session: "main", variable: "O3", level: 2, places: [[7.5, 50.2]], range: [0, 80], wind: "arrows",
    });
    expect(read(`#token=abc${text.replace("#", "&")}`)).toEqual(view.value);
  });

  test.each(["", "#token=abc", "#view=%7B", "#view=null", `#view=${encodeURIComponent('{"version": 99, "level": 3}')}`])(
    "is null for %j", (hash) => expect(read(hash)).toBeNull());

  it("ignores unknown keys and values of the wrong kind", () => {
    const strange = { version: VERSION, level: "three", variable: 7, unknown: 1, log: true, places: "all" };
    const found = read(`#view=${encodeURIComponent(JSON.stringify(strange))}`)!;
    expect(found.log).toBe(true);
    expect([found.level, found.variable, found.places]).toEqual([0, "", []]);
    expect(found).not.toHaveProperty("unknown");
  });

  test.each([
    ["unit", 7], ["colours", ["deep"]], ["range", "wide"], ["range", [0]], ["range", [0, null]], ["camera", { lon: 1 }], ["camera", [1, 2]],
    ["line", [[0, 0]]], ["line", [[0, 0], ["a", 1]]], ["other", {}], ["speed", "fast"], ["speed", Infinity], ["wind", "gale"],
    ["panel", "secret"], ["places", [[1, 2, 3]]], ["places", [null]], ["variable", "x".repeat(1000)], ["at", "noon"], ["constructor", 1],
  ])("ignores invalid values of %s: %j", (key, value) => {
    const found = read(`#view=${encodeURIComponent(`{"version": ${VERSION}, "${key}": ${JSON.stringify(value)}}`)}`)!;
    expect(found).toEqual(read(`#view={"version":${VERSION}}`));
  });
});

describe("settings", () => {
  const model = (more: Partial<ModelInfo>) =>
    (infos.value = { main: { variables: [], settings: {}, values: {}, grid: gridInfo([], []), ...more } as unknown as ModelInfo });

  beforeEach(() => {
    pending.value = {};
    added.value = {};
    view.value = { ...view.value, session: "main" };
    model({});
  });

  it("are none without a model", () => {
    infos.value = {};
    expect([knobs.value, tables.value, groups.value]).toEqual([[], [], []]);
  });

  const quantity = { type: "string", format: "quantity", "x-unit": "s", "x-range": "1 s to 1 day" } as const;

  it("have a control by their type; files and lists have none", () => {
    model({
      settings: schema({
        time: { step: { anyOf: [{ enum: ["auto"] }, quantity] }, start: { type: "string", format: "date-time" } },
        chemistry: { sweeps: { type: "integer" }, solver: { type: "string", enum: ["ros2", "ros3"] }, mechanism: { type: "string" } },
        output: { quick: { type: "boolean" }, files: { type: "array", items: { type: "string" } } },
      }) as never,
      values: { time: { step: "120 s" }, chemistry: { sweeps: 2 } },
    });
    expect(knobs.value.map((each) => [each.name, each.kind, each.value])).toEqual([
      ["time.step", "text", "120 s"], ["chemistry.sweeps", "number", 2], ["chemistry.solver", "words", null], ["output.quick", "switch", null],
    ]);
    expect(knobs.value[2]?.words).toEqual(["ros2", "ros3"]);
    expect([knobs.value[0]?.label, knobs.value[0]?.group]).toEqual(["step", "time"]);
    expect(groups.value).toEqual(["time", "chemistry", "output"]);
  });

  it("have a setting for each that can be changed, also in items of lists of tables", () => {
    const point = { type: "object", properties: { rate: { ...quantity, "x-effect": "rebuild" as const, "x-unit": "kg/s" }, lon: { type: "number" } } };
    model({
      settings: { type: "object", properties: { emissions: { type: "object", properties: { point: { type: "array", items: point } } } } } as never,
      values: { emissions: { point: [{ rate: "1 kg/s", lon: 3 }, { rate: "2 kg/s", lon: 4 }] } },
    });
    expect(knobs.value.map((each) => [each.name, each.value, each.unit])).toEqual([
      ["emissions.point.0.rate", "1 kg/s", "kg/s"], ["emissions.point.1.rate", "2 kg/s", "kg/s"],
    ]);
  });

  it("include numbers of processes that may be set, with their valid range", () => {
    model({
      variables: [
        variable("rain_factor", "1", null, { settable: true, valid: [0, null] } as never), variable("fixed", "1", null),
        variable("map", "1", null, { settable: true, dims: ["lat", "lon"] } as never),
      ],
    });
    expect(knobs.value.map((each) => [each.name, each.range])).toEqual([["rain_factor", "0 to ∞"]]);
    const numbers = [
      variable("a", "1", null, { settable: true, valid: [null, 3], text: "", group: "rain" } as never),
      variable("b", "1", null, { settable: true, valid: [null, null], text: "words" } as never),
    ];
    model({ variables: numbers });
    expect(knobs.value.map((each) => [each.label, each.group, each.range])).toEqual([["a", "rain", "−∞ to 3"], ["words", "numbers", ""]]);
  });

  it("are shown once where the model has a number of the same name", () => {
    model({
      variables: [variable("rain_factor", "1", null, { settable: true } as never), variable("rain_table_O3", "1", null, { settable: true } as never)],
      settings: schema({ rain: { factor: { type: "number", "x-effect": "in place" }, table: { type: "object", additionalProperties: { type: "number" } } } }) as never,
      values: { rain: { factor: 2 } },
    });
    expect(knobs.value.map((each) => [each.name, each.value, each.effect])).toEqual([["rain.factor", 2, "in place"]]);
  });

  it("in tables have rows by name, and the names that are left", () => {
    const factors = { type: "object", additionalProperties: { type: "number" }, "x-keys": ["NO2", "CO", "SO2"] };
    model({ settings: schema({ emissions: { factors } }) as never, values: { emissions: { factors: { NO2: 0.5 } } } });
    expect(tables.value[0]?.rows.map((each) => [each.name, each.value])).toEqual([["emissions.factors.NO2", 0.5]]);
    expect(tables.value[0]?.keys).toEqual(["CO", "SO2"]);
    added.value = { "emissions.factors": ["CO"] };
    expect(tables.value[0]?.rows.map((each) => each.value)).toEqual([0.5, 1]);
    expect(tables.value[0]?.keys).toEqual(["SO2"]);
  });

  it("are pending until they are sent, and stay so when they were entered again since", () => {
    enter("a", 1);
    enter("b", 2);
    enter("b", null);
    enter("c", 3);
    expect(pending.value).toEqual({ a: 1, c: 3 });
    enter("c", 4);
    forget({ a: 1, c: 3 });
    expect(pending.value).toEqual({ c: 4 });
  });

  it("that were sent leave the rows that were added for them", () => {
    added.value = { "emissions.factors": ["CO", "SO2"] };
    forget({ "emissions.factors.CO": 2 });
    expect(added.value).toEqual({ "emissions.factors": ["SO2"] });
  });
});

describe("the distance of two places", () => {
  test.each([
    [[0, 0], [0, 0], 0], [[0, 0], [90, 0], 10007.54], [[0, 0], [180, 0], 20015.09], [[0, -90], [0, 90], 20015.09],
    [[2.35, 48.85], [-0.13, 51.51], 344.44], // Paris to London, by the law of cosines
    [[179, 0], [-179, 0], 222.39],
  ] as const)("%j to %j", (a, b, found) => expect(distance(a, b)).toBeCloseTo(found, found > 1000 ? 1 : 0));
});
