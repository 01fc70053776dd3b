// The timeline of a run: its parts, positions on the axis, names of days and hours, playback.
import { beforeEach, describe, expect, it, test } from "vitest";
import { clockText, dayText, nameFor, periods, ticks, UTC, zoneText, type Zone } from "../src/maths/time_axis";
import { isLoop, isPlayable, moved, pace, paceText, playing, startPlayback, stopPlayback, togglePlayback } from "../src/state/playback";
import { remembered } from "../src/state/preferences";
import { infos, notices } from "../src/state/store";
import { first, last, nearest, neighbour, position, shownTime, spinUpPart, timeAt, timeline, timelineOf, type Timeline } from "../src/state/timeline";
import { displayedTime, moveTo, read, showTime, view, written } from "../src/state/view";
import { field, model, reach, receive, see } from "./samples";

const HOUR = 3600;
const DAY = 24 * HOUR;
const T0 = Date.UTC(2022, 7, 31);

const recording = (...seconds: number[]) => ({ every: HOUR, variables: ["O3"], moments: seconds.map((each) => ({ seconds: each, step: 0, time: "" })) }) as never;
const day = (present: number, ...seconds: number[]): Timeline => timelineOf(reach(present, { begin: -DAY }), recording(...seconds), "O3", []);

beforeEach(() => {
  see({ variable: "O3" });
  infos.value = { main: model([field("O3")]) };
  showTime(null);
});

describe("the timeline", () => {
  it("has the recorded times of the displayed field and those of received frames, in order and none twice", () => {
    const state = reach(3 * HOUR);
    expect(timelineOf(state, recording(0, HOUR), "O3", [1800, HOUR]).times).toEqual([0, 1800, HOUR]);
    expect(timelineOf(state, recording(0, HOUR), "NO2", [1800]).times).toEqual([1800]);
    expect(timelineOf(state, recording(0, 4 * HOUR), "O3", []).times).toEqual([0]); // the run has returned to an earlier state
    expect(timelineOf(state, null, "O3", [0, HOUR]).every).toBe(HOUR);
  });

  it("gives spin-up a small part of the axis, and the case the rest", () => {
    const of = day(0);
    expect(spinUpPart(of)).toBe(0.12);
    expect([-DAY, 0, DAY / 2, DAY].map((each) => position(of, each))).toEqual([0, 0.12, 0.56, 1]);
    expect(spinUpPart({ ...of, begin: -HOUR })).toBeCloseTo(1 / 25);
    expect(spinUpPart({ ...of, begin: 0 })).toBe(0);
  });

  test.each([-DAY, -HOUR, 0, 10 * HOUR, DAY])("finds the time %d at its own position", (seconds) => {
    const of = day(0);
    expect(timeAt(of, position(of, seconds))).toBeCloseTo(seconds, 6);
  });

  it("moves from recorded hour to recorded hour; beyond the last one is the present", () => {
    const of = day(2 * HOUR, 0, HOUR, 2 * HOUR);
    expect([neighbour(of, null, -1), neighbour(of, HOUR, 1), neighbour(of, 0, -1), neighbour(of, 1.5 * HOUR, -1), neighbour(of, 0.5 * HOUR, 1)]).toEqual([HOUR, null, 0, HOUR, HOUR]);
    expect([nearest(of, 0.6 * HOUR), nearest(of, 9 * HOUR)]).toEqual([HOUR, null]);
  });

  it("displays the nearest recorded hour for a time outside the recorded ones", () => {
    for (const seconds of [HOUR, 2 * HOUR]) receive("main", seconds, [1]);
    reach(2 * HOUR);
    for (const [at, expected] of [[0, HOUR], [9 * HOUR, 2 * HOUR], [1.5 * HOUR, 1.5 * HOUR], [null, 2 * HOUR]] as const) {
      showTime(at);
      expect(shownTime.value).toBe(expected);
    }
  });
});

describe("the displayed time", () => {
  it("is part of the address, the moving one is not", () => {
    showTime(HOUR);
    expect(read(written(view.value))?.at).toBe(HOUR);
    moveTo(2 * HOUR);
    expect([displayedTime.value, view.value.at]).toEqual([2 * HOUR, HOUR]);
    showTime(null);
    expect([displayedTime.value, read(written(view.value))?.at]).toEqual([null, null]);
  });
});

describe("playback", () => {
  const of = () => day(6 * HOUR, -2 * HOUR, 0, HOUR, 2 * HOUR, 6 * HOUR);

  beforeEach(() => {
    pace.value = 3;
    isLoop.value = true;
  });

  it("moves by the selected number of hours in a second, at most a quarter of a second at once", () => {
    expect(moved(of(), 0, 0.1)).toBeCloseTo(0.3 * HOUR);
    expect(moved(of(), 0, 60)).toBeCloseTo(0.75 * HOUR);
    pace.value = 1;
    expect(moved(of(), 0, 0.1)).toBeCloseTo(0.1 * HOUR);
  });

  it("shows the last hour, then starts again after spin-up, or stays", () => {
    expect(moved(of(), 5.9 * HOUR, 0.2)).toBe(6 * HOUR);
    expect(moved(of(), 6 * HOUR, 0.2)).toBe(0);
    isLoop.value = false;
    expect(moved(of(), 6 * HOUR, 0.2)).toBe(6 * HOUR);
  });

  it("starts at the displayed hour, stops where it is, and ends when another time is selected", () => {
    globalThis.requestAnimationFrame = () => 0;
    for (const seconds of [0, HOUR, 2 * HOUR]) receive("main", seconds, [1]);
    reach(2 * HOUR);
    expect([isPlayable.value, first(timeline.value!), last(timeline.value!)]).toEqual([true, 0, 2 * HOUR]);
    togglePlayback();
    expect([playing.value, displayedTime.value]).toEqual([true, 0]);
    moveTo(HOUR);
    stopPlayback();
    expect([playing.value, view.value.at]).toEqual([false, HOUR]);
    startPlayback();
    expect(displayedTime.value).toBe(HOUR);
    showTime(null);
    expect(playing.value).toBe(false);
  });

  it("needs two recorded hours", () => {
    reach(0, { session: "main" });
    see({ variable: "CO" });
    infos.value = {};
    receive("main", 0, [1], { variable: "CO" });
    togglePlayback();
    expect([playing.value, notices.value.at(-1)?.kind]).toEqual([false, "problem"]);
  });

  it("has its speed in words", () => {
    infos.value = { main: model([field("O3")]) };
    for (const seconds of [0, HOUR, 2 * HOUR]) receive("main", seconds, [1]);
    reach(2 * HOUR);
    expect(paceText(3)).toBe("3 h");
  });
});

describe("the axis", () => {
  it("has days with hours for a day, in the longest names that fit", () => {
    const found = periods(T0, T0 + 1000 * DAY, 800);
    expect(found.map((each) => [each.from, each.to, each.names[0]])).toEqual([[T0, T0 + 1000 * DAY, "Wed 31 August"]]);
    expect(ticks(T0, T0 + 1000 * DAY, 800).map((each) => each.text)).toEqual(["00:00", "02:00", "04:00", "06:00", "08:00", "10:00", "12:00", "14:00", "16:00", "18:00", "20:00", "22:00", "00:00"]);
    expect([200, 80, 58, 30, 4].map((width) => nameFor(found[0]?.names ?? [], width))).toEqual(["Wed 31 August", "Wed 31", "Wed 31", "31", ""]);
  });

  it("has minutes for an hour, months for a year, and years for many", () => {
    expect(ticks(T0, T0 + HOUR * 1000, 800).map((each) => each.text)).toContain("00:05");
    const year = [Date.UTC(2020, 0), Date.UTC(2021, 0)] as const;
    expect(periods(...year, 1000).map((each) => each.names[1])).toContain("Feb");
    expect(ticks(...year, 1000).some((each) => each.text === "1")).toBe(true);
    const decade = [Date.UTC(2010, 0), Date.UTC(2020, 0)] as const;
    expect(periods(...decade, 1000).map((each) => each.names[0])).toEqual(["2010", "2011", "2012", "2013", "2014", "2015", "2016", "2017", "2018", "2019"]);
    expect(ticks(...decade, 1000).every((each) => ["Jan", "Jul", ""].includes(each.text))).toBe(true);
  });

  it("follows the clock of the reader", () => {
    const cologne: Zone = () => 2 * HOUR * 1000;
    expect(periods(T0, T0 + 1000 * DAY, 800, cologne).map((each) => each.names[0])).toEqual(["Wed 31 August", "Thu 1 September"]);
    expect([clockText(T0, cologne), dayText(T0 - 3_600_000, cologne), zoneText(T0, cologne), zoneText(T0, UTC)]).toEqual(["02:00", "Wed 31 August", "UTC+2", "UTC"]);
    expect(zoneText(T0, () => -3.5 * HOUR * 1000)).toBe("UTC−3:30");
    expect(ticks(T0, T0 + 1000 * DAY, 800, cologne)[0]).toEqual({ time: T0, text: "02:00" });
  });
});

describe("a preference", () => {
  it("is remembered, and an unsuitable one is the default", () => {
    const isNumber = (value: unknown) => typeof value === "number";
    const one = remembered("sample", 3, isNumber);
    one.value = 5;
    expect(remembered("sample", 3, isNumber).value).toBe(5);
    localStorage.setItem("airshed-sample", '"wide"');
    expect(remembered("sample", 3, isNumber).value).toBe(3);
    localStorage.setItem("airshed-sample", "{");
    expect(remembered("sample", 3, isNumber).value).toBe(3);
  });
});
