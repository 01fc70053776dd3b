// Changes of a run in words, and their undo: a branch from before a change, or a return where nothing was computed since.
import { computed, effect, signal } from "@preact/signals";
import type { Command, LogEntry, SessionState, SnapshotInfo } from "../protocol/types";
import { close, command, leaveComparison } from "./actions";
import { timeText } from "./clock";
import { commandText, type LogContext } from "./log_words";
import { nameOf } from "./names";
import { placeName } from "./place_names";
import { levers, open, opened, type Opened } from "./scenario";
import { http, learn, logs, notify, session, sessions, variables } from "./store";
import { look, showTime, view } from "./view";

/** A change that acts on a run. */
export interface PastChange {
  number: number;
  seconds: number;
  author: string;
  command: Record<string, unknown>;
}

interface NamedChange extends PastChange {
  words: string;
}

/** A change that was undone, and the way to it. */
interface Undone {
  words: string;
  /** Whether a run was removed, which redo opens again. */
  run?: boolean;
  redo(): Promise<void>;
}

const CHANGES = ["set", "paint", "release"];
const INSTANT = 1;

/** States before changes that the server stores, by session. */
const stored = signal<Record<string, SnapshotInfo[]>>({});
const undone = signal<Undone[]>([]);
/** Runs that undo a change, by the run and the number of the change. */
const made = new Map<string, string>();

/** Return the changes that act on a run: without those before a return to an earlier state. */
export function activeChanges(log: LogEntry[]): PastChange[] {
  let found: PastChange[] = [];
  for (const { number, seconds, author, command: of } of log) {
    if (of["kind"] === "restart") found = [];
    else if (of["kind"] === "restore") found = found.filter((each) => each.number < firstAfter(String(of["snapshot"])));
    else if (CHANGES.includes(String(of["kind"]))) found = [...found, { number, seconds, author, command: of }];
  }
  return found;
}

/** Return the number of the first change that a snapshot leaves out: of before-3 and s3 the third one. */
const firstAfter = (snapshot: string): number => Number(/\d+$/.exec(snapshot)?.[0] ?? 0);

/** The words of the displayed run that names of changes contain. */
export const context = computed<LogContext>(() => ({ levers: levers.value, variables: variables.value, placeName }));

/** The changes of the displayed run, each in words. */
export const changes = computed<NamedChange[]>(() =>
  activeChanges(logs.value[view.value.session] ?? []).map((each) => ({ ...each, words: commandText(each.command, context.value) })));
export const canRedo = computed(() => undone.value.at(-1)?.words ?? null);
export const canBringBack = computed(() => undone.value.at(-1)?.run ?? false);

/** The run that undo removes: a displayed scenario of this page, unless the displayed run was changed after it. */
export const triedRun = computed<string | null>(() => {
  const { session: present, other } = view.value;
  const tried = [other, present].find((name): name is string => name !== null && name in opened.value && name in sessions.value);
  const last = changes.value.at(-1)?.number ?? -1;
  if (!tried) return null;
  return tried === other ? (last > opened.value[tried]!.after ? null : tried) : stateBefore(last) ? null : tried;
});

/** Remove a run; one of this page can be brought back with the same changes. */
export async function removeRun(name: string): Promise<void> {
  const [words, before] = [nameOf(name), opened.value[name]];
  if (sessions.value[name]?.status === "running") await command(name, { kind: "pause" });
  if (!(await close(name))) return;
  if (before) undone.value = [...undone.value, { words, run: true, redo: () => bringBack({ ...before, scenario: words }) }];
  notify("done", `“${words}” is removed.`);
}

/** Open a removed run again, from the same state and with the same changes, next to the run that it came from. */
async function bringBack(of: Opened): Promise<void> {
  const made = await open(of.from, of.snapshot, of.changes, of.scenario);
  if (made) look({ session: of.from, other: made.session, compare: "swipe", at: null });
}

/** The state before a change; null where it is no longer stored. */
export const stateBefore = (number: number): SnapshotInfo | null =>
  stored.value[view.value.session]?.find((each) => each.change === number) ?? null;

/** Follow the stored states of the displayed run. */
export function followStates(): void {
  effect(() => {
    const name = view.value.session;
    if (!session.value || session.value.recorded) return;
    void session.value.log_entries;
    void http.get<SnapshotInfo[]>(`/sessions/${name}/snapshots`).then((all) => (stored.value = { ...stored.peek(), [name]: all }), () => undefined);
  });
}

/** Discard the changes that were undone: another change was made. */
export const forgetUndone = (): void => void (undone.value = []);

/** Undo a change, by default the last one. */
export async function undo(number: number | undefined = changes.value.at(-1)?.number): Promise<void> {
  const [name, state, { other }] = [view.value.session, session.value, view.value];
  if (number === changes.value.at(-1)?.number && triedRun.value) return removeRun(triedRun.value);
  if (number === undefined && other && sessions.value[other]?.parent === name) return leaveScenario(other);
  const change = changes.value.find((each) => each.number === number);
  if (!state || !change) return notify("problem", "There is nothing to undo.");
  const before = stateBefore(change.number);
  if (!before) return notify("problem", `The state before “${change.words}” is no longer stored. Start from the base run.`);
  const later = changes.value.filter((each) => each.number >= change.number);
  showTime(null);
  if (state.seconds - before.seconds < INSTANT) await undoHere(name, before, later);
  else await undoInBranch(name, state, before, later);
}

/** Show the base run alone: its scenario stays in the list of runs. */
function leaveScenario(other: string): void {
  const { compare } = view.value;
  const words = nameOf(other);
  leaveComparison();
  look({ other: null });
  undone.value = [...undone.value, { words, redo: async () => look({ other, compare }) }];
  notify("done", `Undone: ${words}. Its run stays in the list.`);
}

/** Return to the state before changes: nothing was computed with them. */
async function undoHere(name: string, before: SnapshotInfo, later: NamedChange[]): Promise<void> {
  if (!(await command(name, { kind: "restore", snapshot: before.snapshot }))) return;
  await learn(name);
  const words = later.map((each) => each.words).join(", ");
  undone.value = [...undone.value, { words, redo: async () => {
    for (const each of later) await command(name, each.command as unknown as Command);
    await learn(name);
  } }];
  notify("done", `Undone: ${words}. No hour was computed with it.`);
}

/** Continue in a run from before changes; the hours that were computed with them stay. */
async function undoInBranch(name: string, state: SessionState, before: SnapshotInfo, later: NamedChange[]): Promise<void> {
  const key = `${name} ${before.snapshot}`;
  const known = sessions.value[made.get(key) ?? ""] ?? null;
  const found = known ?? (await open(name, before.snapshot, {}, ""));
  if (!found) return;
  made.set(key, found.session);
  leaveComparison();
  look({ session: found.session, other: null });
  const back = { words: later.map((each) => each.words).join(", "), redo: async () => look({ session: name, other: null }) };
  undone.value = [...undone.value, back];
  notify("done", undoSentence(state.seconds - before.seconds, nameOf(name), timeText(before.time, "hour"), later.length - 1));
}

/** Return the sentence on the hours that were computed with a change. */
export function undoSentence(seconds: number, run: string, start: string, others: number): string {
  const hours = Math.round(seconds / 3600);
  const length = hours >= 1 ? `${hours} ${hours === 1 ? "hour was" : "hours were"}` : `${Math.max(Math.round(seconds / 60), 1)} minutes were`;
  const without = others > 0 ? ` It also leaves out ${others} later ${others === 1 ? "change" : "changes"}.` : "";
  return `${length} computed with that change. They stay in “${run}”; the new run starts at ${start}.${without}`;
}

/** Return to the last change that was undone. */
export async function redo(): Promise<void> {
  const last = undone.value.at(-1);
  if (!last) return notify("problem", "There is nothing to redo.");
  undone.value = undone.value.slice(0, -1);
  await last.redo();
  notify("done", `Redone: ${last.words}.`);
}
