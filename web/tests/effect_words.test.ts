// The effect of a scenario in words: times, means, and why there is more ozone.
import { expect, test } from "vitest";
import "./browser";
import { cutsNitrogen, meanSentence, timesText, timeOfEffect } from "../src/state/effect_words";
import type { Effect } from "../src/protocol/types";

const at = (time: string) => ({ time, seconds: Date.parse(time) / 1000 });
const effect = (hours: number, begin: string, end: string, before = 1, after = 1): Effect =>
  ({ hours, begin: at(begin), end: at(end), domain: { name: "the whole area", before, after } }) as unknown as Effect;

test("times are hours of a day, hours of several days, or dates", () => {
  expect(timesText(effect(12, "2020-01-01T06:00:00Z", "2020-01-01T17:00:00Z"))).toBe("12 hours, from 06:00 to 17:00 UTC");
  expect(timesText(effect(1, "2020-01-01T06:00:00Z", "2020-01-01T06:00:00Z"))).toBe("1 hour, from 06:00 to 06:00 UTC");
  expect(timesText(effect(49, "2020-01-01T00:00:00Z", "2020-01-03T00:00:00Z"))).toBe("49 hours, from 1 Jan 2020, 00:00 to 3 Jan 2020, 00:00 UTC");
  const year = effect(37, "2020-01-01T00:00:00Z", "2020-12-26T00:00:00Z");
  expect(timesText(year)).toBe("37 dates, from 1 Jan 2020 to 26 Dec 2020");
  expect(timeOfEffect(year, "2020-03-11T00:00:00Z")).toBe("11 Mar 2020");
});

test("a mean falls, rises or stays", () => {
  const [begin, end] = ["2020-01-01T00:00:00Z", "2020-12-26T00:00:00Z"];
  expect(meanSentence(effect(37, begin, end, 200, 150), "Green grass")).toBe("Over the whole area, the mean of green grass falls by 25 %.");
  expect(meanSentence(effect(37, begin, end, 0, 1), "Litter")).toBe("Over the whole area, the mean of litter rises.");
  expect(meanSentence(effect(37, begin, end), "Litter")).toBe("Over the whole area, the mean of litter stays the same.");
});

test("less fuel is less nitrogen oxides; solvents, ammonia and more traffic are not", () => {
  const kinds: Record<string, [string, string]> = {
    DE: ["country", "Germany"], F_RoadTransport: ["sector", "Road transport"], E_Solvents: ["sector", "Solvents"], NOx: ["pollutant", "NOx"], NH3: ["pollutant", "Ammonia"],
  };
  const cuts = (key: string, factor: number) => cutsNitrogen({ [`emissions.scale.${key}`]: factor }, kinds);
  expect([cuts("DE/F_RoadTransport", 0.5), cuts("DE", 0.5), cuts("NOx", 0)]).toEqual([true, true, true]);
  expect([cuts("DE/F_RoadTransport", 1.5), cuts("E_Solvents", 0.5), cuts("DE/F_RoadTransport/NH3", 0.5)]).toEqual([false, false, false]);
  expect(cutsNitrogen({ "boundary.scale.O3": 0.5 }, kinds)).toBe(false);
});
