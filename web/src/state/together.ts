// Runs that are compared advance in step: the earlier one first catches up with the later one.
import { effect } from "@preact/signals";
import type { SessionState } from "../protocol/types";
import { command } from "./actions";
import { sessions } from "./store";
import { view, watched } from "./view";

/** Round-off of a time [s]. */
const INSTANT = 1;

/** Return the run that has to catch up, and the time [s] until which it runs; null where both are at the same time. */
export function catchingUp(runs: SessionState[]): { session: string; until: number } | null {
  const [first, last] = [...runs].sort((a, b) => a.seconds - b.seconds);
  if (!first || !last || last.seconds - first.seconds < INSTANT) return null;
  return { session: first.session, until: last.seconds };
}

const live = (): SessionState[] => watched.value.map((name) => sessions.value[name]).filter((each) => each !== undefined && !each.recorded) as SessionState[];

let stop = (): void => undefined;

/** Run the compared runs to a time, by default to the end of the case, in step. */
export async function runTogether(until: number | string | null = null): Promise<void> {
  stop();
  const names = watched.value.join();
  const run = (name: string, to: number | string | null) => command(name, { kind: "run", until: to, steps_per_second: view.value.speed });
  const behind = catchingUp(live());
  if (!behind) {
    await Promise.all(live().filter((each) => each.status !== "ended").map((each) => run(each.session, until)));
    return;
  }
  // the later run waits for the earlier one
  const others = live().filter((each) => each.session !== behind.session && each.status === "running");
  await Promise.all(others.map((each) => command(each.session, { kind: "pause" })));
  const again = catchingUp(live()) ?? behind;
  if (!(await run(again.session, again.until))) return;
  let started = false;
  const end = effect(() => {
    const state = sessions.value[again.session];
    if (state?.status === "running") started = true;
    if (!state || names !== watched.value.join() || (started && state.status === "paused" && state.seconds < again.until - INSTANT)) return queueMicrotask(() => stop());
    if (state.seconds >= again.until - INSTANT && state.status !== "running") queueMicrotask(() => { stop(); void runTogether(until); });
  });
  stop = () => {
    end();
    stop = () => undefined;
  };
}
