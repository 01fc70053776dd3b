// Runs that have ended: the page falls back to the nearest ancestor that is left, with a sentence.
import { signal } from "@preact/signals";
import type { SessionState } from "../protocol/types";
import { nameIn } from "./run_names";

/** A run and its ancestors, each with the words that name it; without words the name is not known. */
export type Lineage = [session: string, words: string][];

const LONGEST = 20;
const PARAMETER = /[#&]run=([^&]+)/;

/** The lineage of the displayed run, which remains when the run has ended. */
export const lineage = signal<Lineage>([]);

/** Return the words that name a run in an address, whichever other runs there are: its scenario, or its title. */
const wordsOf = (state: SessionState): string => state.scenario || (state.parent ? state.session : state.title || state.case);

/** Return a run and its ancestors, as far as they are there. */
export function lineageOf(name: string, all: Record<string, SessionState>): Lineage {
  const found: Lineage = [];
  for (let state = all[name]; state && found.length < LONGEST; state = all[state.parent ?? ""]) found.push([state.session, wordsOf(state)]);
  return found;
}

/** Return the nearest run of a lineage that is left, with a sentence; null where none is left. */
export function nearest(of: Lineage, all: Record<string, SessionState>): { session: string; said: string } | null {
  const at = of.findIndex(([name, words]) => all[name] && (!words || wordsOf(all[name]) === words));
  const [first, found] = [of[0], of[at]];
  if (!first || !found) return null;
  return { session: found[0], said: at === 0 ? "" : endOf(first, nameIn(all, found[0]), at === 1) };
}

/** Return the sentence for a run that has ended. */
export function endOf([name, words]: Lineage[number], instead: string, isParent: boolean): string {
  return `The run “${words || name}” has ended. This is ${isParent ? "its parent" : "the nearest run"}, “${instead}”.`;
}

/** Return a lineage as a part of an address. */
export const writtenLineage = (of: Lineage): string => (of.length ? `&run=${encodeURIComponent(JSON.stringify(of))}` : "");

/** Return the lineage of an address; without a valid one it has a chosen run alone. */
export function readLineage(hash: string, chosen: string): Lineage {
  const alone: Lineage = chosen === "main" ? [] : [[chosen, ""]];
  try {
    const found: unknown = JSON.parse(decodeURIComponent(PARAMETER.exec(hash)?.[1] ?? "null"));
    const sound = Array.isArray(found) && found.length <= LONGEST && found.every((each) => Array.isArray(each) && each.length === 2 && each.every((text) => typeof text === "string" && text.length <= 200));
    return sound ? (found as Lineage) : alone;
  } catch {
    return alone;
  }
}
