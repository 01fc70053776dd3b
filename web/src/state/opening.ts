// The first sight: a recorded day that plays at once, and the live run that follows it on request.
import { computed, effect, signal } from "@preact/signals";
import type { SessionState } from "../protocol/types";
import { command, requested } from "./actions";
import { timeText } from "./clock";
import { playing, togglePlayback } from "./playback";
import { arrived, http, info, infos, learn, notify, openings, past, session, sessions } from "./store";
import { displayedMoment } from "./times";
import { look, showTime, view } from "./view";

/** The capability of a recorded session whose model can be set up. */
const SETUP = "setup";

export const canSetUp = computed(() => info.value?.capabilities.includes(SETUP) ?? false);

/** Whether this page has requested the live run, which it shows after the spin-up. */
export const goingLive = signal(false);

/** The live run that a recorded day may turn into. */
export const liveRun = computed<SessionState | null>(() => Object.values(sessions.value).find((each) => !each.recorded && !each.parent) ?? null);

/** The present stage of the way to the live run in words; null where it has not begun. */
export const progress = computed<string | null>(() => {
  const stage = Object.values(openings.value)[0];
  if (stage) return stage;
  const run = liveRun.value;
  if (!goingLive.value) return null;
  if (!run) return "preparing";
  const [hour, hours] = [run.seconds - run.begin, -run.begin].map((each) => Math.floor(each / 3600));
  return `spin-up, hour ${hour} of ${hours}: the air adjusts to the emissions`;
});

/** Set up the model of the displayed recording and run it; the page shows it when its spin-up is over. */
export async function makeLive(): Promise<void> {
  const from = view.value.session;
  goingLive.value = true;
  const made = await requested(() => http.send<SessionState>("POST", `/sessions/${from}/setup`));
  if (!made) {
    goingLive.value = false;
    return;
  }
  sessions.value = { ...sessions.value, [made.session]: { ...made, ...sessions.value[made.session] } };
  if (!infos.value[made.session]) await learn(made.session);
  if (made.status === "paused") await command(made.session, { kind: "run", until: null, steps_per_second: view.value.speed });
}

/** Show the live run at the displayed hour, or at its present with a sentence where it has not computed that hour. */
export function showLive(): void {
  goingLive.value = false;
  const run = liveRun.value;
  const moment = displayedMoment.peek();
  showTime(null);
  if (!run) return;
  look({ session: run.session });
  const hour = moment === null ? null : hourOfDay(run, moment);
  if (hour !== null && hour < run.seconds) showTime(hour);
  else if (hour !== null && hour > run.seconds) notify("done", `The model has not computed ${timeText(startOf(run) + 1000 * hour, "clock")} yet. The map shows ${timeText(run.time, "clock")} and follows the model.`);
}

const startOf = (run: SessionState): number => Date.parse(run.time) - 1000 * run.seconds;

const DAY = 86400;

/** Return the time of a run [s] with the hour of the day of a moment [ms]: the moment itself, or that hour of the first day. */
export function hourOfDay(run: SessionState, moment: number): number {
  const seconds = Math.round((moment - startOf(run)) / 1000);
  return seconds >= 0 && seconds <= run.end ? seconds : ((seconds % DAY) + DAY) % DAY;
}

/** Follow the way to the live run, and play a recorded day from its first picture on unless `still`. */
export function followOpening(still: boolean): void {
  effect(() => {
    if (goingLive.value && (liveRun.value?.seconds ?? -1) >= 0) queueMicrotask(showLive);
  });
  if (still) return;
  const stop = effect(() => {
    void arrived.value;
    const hours = past(view.value.session).frames.filter((each) => each.header.subscription === null);
    if (!session.value?.recorded || hours.length < 2) return;
    queueMicrotask(() => {
      stop();
      if (!playing.value) togglePlayback();
    });
  });
}
