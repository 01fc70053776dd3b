// The name of a run in plain words, from the states of all runs.
import type { SessionState } from "../protocol/types";

/** The run without changes, which scenarios are compared with. */
export const BASE = "Base run";
/** The same, next to a recorded day. */
export const LIVE = "Live run";
export const RECORDED = "Recorded day";

export function nameIn(all: Record<string, SessionState>, session: string): string {
  const state = all[session];
  if (!state) return session;
  if (state.scenario) return state.scenario;
  if (state.parent) return `Copy of ${nameIn(all, state.parent)}`;
  const unnamed = Object.values(all).filter((each) => !each.parent && !each.scenario);
  if (unnamed.filter((each) => !each.recorded === !state.recorded).length > 1) return state.title || state.case;
  if (state.recorded) return RECORDED;
  return unnamed.length > 1 ? LIVE : BASE;
}
