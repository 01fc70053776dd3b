// Names of runs in plain words, for maps, legend, series, lists, links and files.
import type { SessionState } from "../protocol/types";
import { sessions } from "./store";

/** The run without changes, which scenarios are compared with. */
export const BASE = "Base run";

/** Return the name of a run: its scenario, or a name for a run that did not branch off. */
export const nameOf = (session: string): string => nameIn(sessions.value, session);

export function nameIn(all: Record<string, SessionState>, session: string): string {
  const state = all[session];
  if (!state) return session;
  if (state.scenario) return state.scenario;
  if (state.recorded) return "Recorded day";
  if (state.parent) return `Copy of ${nameIn(all, state.parent)}`;
  const trunks = Object.values(all).filter((each) => !each.parent && !each.recorded && !each.scenario);
  return trunks.length > 1 ? state.title || state.case : BASE;
}
