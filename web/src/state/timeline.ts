// The time of the displayed run: its parts that are recorded, computed and still to come, and their positions on an axis.
import { computed, effect, signal } from "@preact/signals";
import type { RecordingInfo, SessionState } from "../protocol/types";
import { arrived, connection, http, info, past, session, variable } from "./store";
import { displayedTime, view } from "./view";

/** Times in seconds after the start of the case; spin-up is negative. */
export interface Timeline {
  session: string;
  begin: number;
  end: number;
  /** The time that the model has reached. */
  present: number;
  /** Times with a frame of the displayed field, in order. */
  times: number[];
  /** Time between records. */
  every: number;
  /** The start of the case [ms since 1970]. */
  zero: number;
}

const recordings = signal<Record<string, RecordingInfo>>({});

/** Request the recorded times of the displayed run, again when its field changes or the connection returns. */
export function followRecording(): void {
  const needed = computed(() => (info.value && connection.value === "open" ? `${view.value.session} ${variable.value?.name}` : null));
  effect(() => {
    const [name] = needed.value?.split(" ") ?? [];
    if (!name) return;
    void http.get<RecordingInfo>(`/sessions/${name}/recording`).then(
      (found) => (recordings.value = { ...recordings.peek(), [name]: found }), () => undefined,
    );
  });
}

export const timeline = computed<Timeline | null>(() => {
  const state = session.value;
  if (!state) return null;
  void arrived.value;
  return timelineOf(state, recordings.value[state.session] ?? null, variable.value?.name ?? "", past(state.session).frames.map((each) => each.header.seconds));
});

/** Return the timeline of a session: the times of its recording if it has the field, and of the frames that the page received. */
export function timelineOf(state: SessionState, recording: RecordingInfo | null, field: string, received: number[]): Timeline {
  const recorded = recording?.variables.includes(field) ? recording.moments.map((each) => each.seconds) : [];
  const times = [...new Set([...recorded, ...received])].filter((each) => each <= state.seconds).sort((a, b) => a - b);
  const gaps = times.slice(1).map((each, k) => each - (times[k] ?? 0));
  return {
    session: state.session, begin: state.begin, end: Math.max(state.end, state.seconds), present: state.seconds, times,
    every: recording?.every || Math.max(...gaps, 0) || 3600, zero: Math.round(Date.parse(state.time) / 1000 - state.seconds) * 1000,
  };
}

/** The first and the last time that can be displayed. */
export const first = (of: Timeline): number => of.times[0] ?? of.present;
export const last = (of: Timeline): number => of.times.at(-1) ?? of.present;

/** The displayed time, within the times that can be displayed; the present where none is selected. */
export const shownTime = computed<number>(() => {
  const of = timeline.value;
  const at = displayedTime.value;
  if (!of) return 0;
  return at === null ? of.present : Math.min(Math.max(at, first(of)), last(of));
});

/** Whether days matter more than hours, as in a year of pasture. */
export const isLong = (of: Timeline): boolean => of.end - Math.max(of.begin, 0) > 10 * 86400;

/** Largest part of the axis for spin-up. */
const SPIN_UP = 0.12;

/** Return the part of the axis before the start of the case. */
export function spinUpPart({ begin, end }: Timeline): number {
  if (begin >= 0) return 0;
  return end <= 0 ? 1 : Math.min(-begin / (end - begin), SPIN_UP);
}

/** Return the position of a time on the axis, from 0 to 1. */
export function position(of: Timeline, seconds: number): number {
  const part = spinUpPart(of);
  const from = Math.max(of.begin, 0);
  const at = seconds < 0 ? part * (1 - seconds / of.begin) : part + ((1 - part) * (seconds - from)) / Math.max(of.end - from, 1e-9);
  return Math.min(Math.max(at, 0), 1);
}

/** Return the time at a position of the axis. */
export function timeAt(of: Timeline, at: number): number {
  const part = spinUpPart(of);
  const from = Math.max(of.begin, 0);
  if (at < part) return of.begin * (1 - at / part);
  return from + ((at - part) / Math.max(1 - part, 1e-9)) * (of.end - from);
}

/** Return the displayable time next to one, by a number of frames; null beyond the last one, which is the present. */
export function neighbour(of: Timeline, from: number | null, frames: number): number | null {
  const at = from === null ? of.times.length - 1 : of.times.findLastIndex((each) => each <= from);
  const between = from !== null && frames < 0 && (of.times[at] ?? 0) < from ? 1 : 0; // the frame before is that of the same interval
  const next = Math.max(at + frames + between, 0);
  return next >= of.times.length - 1 ? null : (of.times[next] ?? null);
}

/** Return the displayable time nearest to one, null for the present. */
export function nearest(of: Timeline, seconds: number): number | null {
  const found = of.times.reduce((best, each) => (Math.abs(each - seconds) < Math.abs(best - seconds) ? each : best), of.present);
  return found >= of.present ? null : found;
}
