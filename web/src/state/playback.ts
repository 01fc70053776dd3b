// Playback of the recorded hours: the displayed time moves continuously, at the rate of the screen. The model does not run.
import { computed, effect, signal } from "@preact/signals";
import { span } from "../maths/format";
import { remembered } from "./preferences";
import { notify, sessions } from "./store";
import { first, last, timeline, type Timeline } from "./timeline";
import { displayedTime, movingTime, moveTo, playhead, showTime, view } from "./view";

export const playing = signal(false);
/** Recorded intervals that are played in a second. */
export const PACES = [1, 3, 6, 12];
export const pace = remembered("pace", 3, (value) => PACES.includes(value as number));
export const isLoop = remembered("loop", true, (value) => typeof value === "boolean");

/** Time between two updates of all parts but the picture [ms]. */
const FOLLOWING = 200;
let followed = -Infinity;

/** Whether a session has a model, which can be run and steered. */
export const hasModel = (name: string = view.value.session): boolean => !sessions.value[name]?.recorded;

/** Whether a session is of air: only its concentrations have sources and stations. */
export const isOfAir = (name: string = view.value.session): boolean => (sessions.value[name]?.model ?? "air") === "air";

/** Whether there are two hours to play. */
export const isPlayable = computed(() => (timeline.value?.times.length ?? 0) > 1);

/** Return the recorded time that a pace plays in a second, such as "3 h". */
export function paceText(of: number): string {
  const seconds = of * (timeline.value ? interval(timeline.value) : 3600);
  return span(seconds < 600 ? Math.round(seconds) : Math.round(seconds / 300) * 300);
}

/** Time that counts as one recorded interval: shorter where less is recorded [s]. */
const interval = (of: Timeline): number => Math.min(of.every, (last(of) - start(of)) / 2 || of.every);

/** Play the recorded hours from the displayed one, or stop. */
export function togglePlayback(): void {
  if (playing.value) stopPlayback();
  else if (isPlayable.value) startPlayback();
  else notify("problem", "No hours are recorded yet. Run the model first (key m).");
}

let clock: number | null = null;

/** Play from a time [s]: by default the displayed one, or the first one where that is the last. */
export function startPlayback(from: number | null = displayedTime.value): void {
  const of = timeline.value;
  if (!of) return;
  moveTo(from === null || from >= last(of) ? start(of) : Math.max(from, first(of)));
  playing.value = true;
  clock = null;
  requestAnimationFrame(tick);
}

/** Stop, and stay at the displayed time. */
export function stopPlayback(): void {
  playing.value = false;
  showTime(playhead.value ?? displayedTime.value);
}

function tick(now: number): void {
  const of = timeline.value;
  if (!playing.value) return;
  if (playhead.value === null || !of) {
    playing.value = false; // the reader has selected another time
    return;
  }
  const next = moved(of, playhead.value, clock === null ? 0 : (now - clock) / 1000);
  clock = now;
  playhead.value = next;
  if (now - followed >= FOLLOWING) [movingTime.value, followed] = [next, now];
  if (next >= last(of) && !isLoop.value) return stopPlayback();
  requestAnimationFrame(tick);
}

/** The first time that is played: spin-up is left out where the case itself has two recorded hours. */
const start = (of: Timeline): number => {
  const own = of.times.filter((each) => each >= 0);
  return (own.length > 1 ? own[0] : of.times[0]) ?? of.present;
};

/** Longest step of playback [s of the reader]: a page in the background does not jump when it returns. */
const LONGEST = 0.25;

/** Return the time that follows a displayed one after some seconds of playback; after the last hour comes the first. */
export function moved(of: Timeline, from: number, elapsed: number): number {
  const next = from + Math.min(elapsed, LONGEST) * pace.value * interval(of);
  if (next < last(of)) return next;
  return isLoop.value && from >= last(of) ? start(of) : last(of);
}

/** End playback when the reader follows a link or changes the run. */
effect(() => {
  if (movingTime.value === null) playing.value = false;
});
