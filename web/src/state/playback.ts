// Playback of the stored hours: the displayed past time moves from frame to frame, with interpolation in between.
import { signal } from "@preact/signals";
import type { Frame } from "../protocol/frames";
import { past, sessions } from "./store";
import { displayedTime, movingTime, playhead, showTime, view } from "./view";

export const playing = signal(false);

/** Frames that are played in a second. */
const PACE = 3;
let clock: number | null = null;

/** Time between two updates of all parts but the picture [ms]. */
const FOLLOWING = 200;
let followed = -Infinity;

/** Whether a session has a model, which can be run and steered. */
export const hasModel = (name: string = view.value.session): boolean => !sessions.value[name]?.recorded;

/** Begin to play the stored hours, from the displayed one or from the first, or stop. */
export function togglePlayback(): void {
  playing.value = !playing.value && past(view.value.session).frames.length > 1;
  clock = null;
  if (!playing.value) return stopPlayback();
  movingTime.value = playhead.value = displayedTime.value ?? past(view.value.session).frames[0]?.header.seconds ?? null;
  requestAnimationFrame(tick);
}

/** Stop, and stay at the displayed time. */
function stopPlayback(): void {
  playing.value = false;
  showTime(playhead.value ?? displayedTime.value);
}

function tick(now: number): void {
  if (!playing.value) return;
  const { frames } = past(view.value.session);
  if (playhead.value === null || frames.length < 2) {
    playing.value = false; // the user has returned to the present
    return;
  }
  playhead.value = moved(frames, playhead.value, clock === null ? 0 : (now - clock) / 1000);
  if (now - followed >= FOLLOWING) [movingTime.value, followed] = [playhead.value, now];
  clock = now;
  requestAnimationFrame(tick);
}

/** Return the time [s] that follows a displayed one after some seconds of playback; after the last frame comes the first. */
export function moved(frames: readonly Frame[], from: number, elapsed: number): number {
  const times = frames.map((each) => each.header.seconds);
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const next = times.find((each) => each > from) ?? last;
  const before = times.findLast((each) => each <= from) ?? first;
  const to = from + elapsed * PACE * Math.max(next - before, (last - first) / 1000);
  return to >= last ? first : to;
}
