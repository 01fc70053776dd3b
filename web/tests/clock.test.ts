// The chosen clock holds for every written time.
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { scaleOf, textAt, ticksOf, type Axis } from "../src/charts/axes";
import { isLocalTime, timeText, zoneName } from "../src/state/clock";
import { entryText } from "../src/state/log_words";
import type { LogEntry } from "../src/protocol/types";

const AT = Date.UTC(2022, 7, 31, 23, 30);
const HOUR = 3_600_000;
const AXIS: Axis = { domain: [Date.UTC(2022, 7, 31), Date.UTC(2022, 7, 31, 12)], kind: "time" };

beforeAll(() => void vi.stubEnv("TZ", "Europe/Berlin"));
afterAll(() => void vi.unstubAllEnvs());

describe.each([
  [false, "23:30", "23:30 UTC", "31 Aug", "31 Aug 2022", "Wed 31 Aug, 23:30 UTC"],
  [true, "01:30", "01:30 UTC+2", "1 Sep", "1 Sep 2022", "Thu 1 Sep, 01:30 UTC+2"],
] as const)("with local time %s", (isLocal, hour, clock, day, date, moment) => {
  beforeAll(() => void (isLocalTime.value = isLocal));
  afterAll(() => void (isLocalTime.value = false));

  it("times are those of the clock", () => {
    expect((["hour", "clock", "day", "date", "moment"] as const).map((form) => timeText(AT, form))).toEqual([hour, clock, day, date, moment]);
    expect(timeText("2022-08-31T23:30:00Z", "moment")).toBe(moment);
    expect(clock).toContain(zoneName(AT));
  });

  it("charts read and divide their axis by it", () => {
    expect(textAt(AT, AXIS)).toBe(`${clock}, ${day}`);
    const ticks = ticksOf(scaleOf(AXIS, [0, 400]), AXIS, 4);
    expect(ticks.map(([at, text]) => [at % HOUR, text])).toEqual(
      (isLocal ? ["03:00", "06:00", "09:00", "12:00"] : ["31 Aug", "03:00", "06:00", "09:00", "12:00"]).map((text) => [0, text]));
    for (const [at, text] of ticks.slice(1)) expect(timeText(at, "hour")).toBe(text);
  });

  it("the log has it", () => {
    const entry = { number: 0, step: 3, seconds: 0, author: "Anna", command: { kind: "restart" } } as LogEntry;
    expect(entryText(entry, "2022-08-31T23:30:00Z", { levers: [], variables: [], placeName: () => "" })).toBe(`Anna: Return to the start, from ${day} ${hour}`);
  });
});

it("a missing time is empty", () => expect(timeText("", "moment")).toBe(""));
