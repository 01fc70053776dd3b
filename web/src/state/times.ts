// Times of charts: milliseconds since 1970 and seconds since the start of the case.
import { computed } from "@preact/signals";
import { past, session, shown } from "./store";
import { showTime, view } from "./view";

/** The start of the case [ms since 1970]. */
export const zero = computed(() => {
  const state = session.value;
  return state ? Date.parse(state.time) - 1000 * state.seconds : 0;
});

export const momentOf = (seconds: number): number => zero.value + 1000 * seconds;

/** The displayed time [ms since 1970]; null before the first frame. */
export const displayedMoment = computed<number | null>(() => {
  const frame = shown(view.value.session);
  return frame ? Date.parse(frame.header.time) : null;
});

/** Display the stored time that is nearest to a moment [ms since 1970]; the last one is the present. */
export function showNearest(moment: number): void {
  const { frames } = past(view.value.session);
  const seconds = (moment - zero.value) / 1000;
  const times = frames.map((each) => each.header.seconds);
  const best = times.reduce((found, each) => (Math.abs(each - seconds) < Math.abs(found - seconds) ? each : found), times[0] ?? 0);
  showTime(best === times.at(-1) ? null : best);
}
