// The first sight: which session opens, the way to the live run, and hours that are mixed while a day plays.
import { beforeEach, describe, expect, it } from "vitest";
import type { SessionState } from "../src/protocol/types";
import { mixOf } from "../src/state/mixing";
import { goingLive, hourOfDay, progress, showLive } from "../src/state/opening";
import { hasModel } from "../src/state/playback";
import { arrived, bestOf, infos, notices, openings, past, sessions } from "../src/state/store";
import { fields } from "../src/state/scale";
import { displayedTime, look, movingTime, playhead, showTime, view } from "../src/state/view";
import { field, frame, model, see } from "./samples";

const state = (session: string, more: Partial<SessionState> = {}) =>
  ({ session, recorded: false, parent: null, seconds: 0, begin: 0, end: 86400, ...more }) as SessionState;

describe("the session that opens", () => {
  const recorded = state("recorded", { recorded: true, seconds: 86400 });

  it.each([
    ["nothing before the first session", [], null],
    ["the recorded day alone", [recorded], "recorded"],
    ["the recorded day during the spin-up of the live run", [recorded, state("main", { seconds: -3600 })], "recorded"],
    ["the live run after its spin-up", [recorded, state("main", { seconds: 600 })], "main"],
    ["a live run in its spin-up without a recorded day", [state("main", { seconds: -3600 })], "main"],
  ])("is %s", (_, all, name) => expect(bestOf(all)).toBe(name));
});

describe("the way to the live run", () => {
  beforeEach(() => {
    sessions.value = {};
    openings.value = {};
    goingLive.value = false;
  });

  it("has stages, then in hours of the spin-up", () => {
    expect(progress.value).toBeNull();
    goingLive.value = true;
    expect(progress.value).toBe("preparing");
    openings.value = { main: "reading the weather" };
    expect(progress.value).toBe("reading the weather");
    openings.value = {};
    sessions.value = { main: state("main", { seconds: -39600, begin: -86400 }) };
    expect(progress.value).toMatch(/^spin-up, hour 13 of 24/);
  });

  it("leaves recorded sessions without a model", () => {
    sessions.value = { recorded: state("recorded", { recorded: true }), main: state("main") };
    expect([hasModel("recorded"), hasModel("main")]).toEqual([false, true]);
  });
});

describe("the displayed hour of the live run", () => {
  const TIME = "2022-08-31T16:00:00Z";
  const run = state("main", { seconds: 16 * 3600, end: 86400, time: TIME });
  const show = (hour: number, computed: number) => {
    infos.value = { recorded: model([field("O3")]) };
    see({ session: "recorded", variable: "O3" });
    notices.value = [];
    sessions.value = { recorded: state("recorded", { recorded: true, seconds: 86400, time: "2022-09-01T00:00:00Z" }), main: { ...run, seconds: computed, time: new Date(Date.parse(TIME) + 1000 * (computed - run.seconds)).toISOString() } };
    const times = [hour, hour + 1].map((each) => 3600 * each);
    past("recorded").merge(times.map((seconds) => ({ ...frame(seconds, { variable: "O3", shape: [2, 4], subscription: null, time: new Date(Date.parse("2022-08-31T00:00:00Z") + 1000 * seconds).toISOString() }, new Float32Array(8)) })));
    arrived.value += 1;
    showTime(3600 * hour);
    showLive();
  };

  it("is the same where the run has computed it", () => {
    show(14, 16 * 3600);
    expect([view.value.session, view.value.at, notices.value]).toEqual(["main", 14 * 3600, []]);
  });

  it("is the present where it has not, in words", () => {
    show(14, 0);
    expect([view.value.session, view.value.at]).toEqual(["main", null]);
    expect(notices.value.map((each) => each.text)).toEqual(["The model has not computed 14:00 UTC yet. The map shows 00:00 UTC and follows the model."]);
  });

  it("is that hour of the day in a run of another day", () => {
    expect(hourOfDay(run, Date.parse("2022-08-31T14:00:00Z"))).toBe(14 * 3600);
    expect(hourOfDay(run, Date.parse("2022-08-29T14:00:00Z"))).toBe(14 * 3600);
    expect(hourOfDay(run, Date.parse("2022-09-04T05:00:00Z"))).toBe(5 * 3600);
  });
});

describe("hours that are mixed", () => {
  beforeEach(() => {
    infos.value = { one: model([field("O3")]) };
    see({ session: "one", variable: "O3", unit: "native" });
    const hours = [0, 3600].map((seconds) => frame(seconds, { variable: "O3", shape: [2, 4], subscription: null }, new Float32Array(8).fill(seconds)));
    past("one").merge(hours);
    arrived.value += 1;
    showTime(0);
  });

  it("are the displayed one alone at rest", () => {
    expect(mixOf(fields.value[0]!)).toMatchObject({ next: null, part: 0 });
  });

  it("are the two around the playing time, which the rest of the page follows later", () => {
    movingTime.value = 0;
    playhead.value = 900;
    const { values, next, part } = mixOf(fields.value[0]!);
    expect([values[0], next?.[0], part]).toEqual([fields.value[0]!.values[0], (fields.value[0]!.values[0] ?? 0) + next![0]!, 0.25]);
    expect(displayedTime.value).toBe(0);
    expect(mixOf(fields.value[0]!).values).toBe(values); // converted once, so that the GPU gets it once
  });

  it("end with the last one", () => {
    playhead.value = 3600;
    expect(mixOf(fields.value[0]!)).toMatchObject({ next: null, part: 0 });
    look({ at: null });
  });
});
