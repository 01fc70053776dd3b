// What people do to the model.
import { signal } from "@preact/signals";
import type { Command, Control, Result, SessionState } from "../protocol/types";
import { askWhoControls, back, controls, http, infos, learn, link, notify, session, sessions } from "./store";
import { look, view } from "./view";
import type { Value } from "./settings";
import { watched } from "./view";

const UNDO = "before a change";
/** Snapshots before changes, the latest last, by session. */
export const undoable = signal<Record<string, string[]>>({});
const MOST_UNDO = 8;

/** Send a command; a refusal becomes a notice, and null. */
export async function command(name: string, wanted: Command): Promise<Result | null> {
  try {
    return accept(name, await link.command(name, wanted));
  } catch (error) {
    refuse(name, error);
    return null;
  }
}

function accept(name: string, result: Result): Result {
  sessions.value = { ...sessions.value, [name]: result.state };
  if (!isMine(name)) void askWhoControls(name);
  return result;
}

function refuse(name: string, error: unknown): void {
  notify("problem", error instanceof Error ? error.message : String(error));
  void askWhoControls(name);
}

/** Those that play together: both where two are compared. */
async function all(wanted: Command): Promise<void> {
  back.value = null;
  await Promise.all(watched.value.map((name) => command(name, wanted)));
}

export const isRunning = (): boolean => session.value?.status === "running";

export function play(until: number | string | null = null): Promise<void> {
  return all({ kind: "run", until, steps_per_second: view.value.speed });
}

export const pause = (): Promise<void> => all({ kind: "pause" });
export const step = (steps = 1): Promise<void> => all({ kind: "step", steps });
export const restart = (): Promise<void> => all({ kind: "restart" });
export const toggle = (): Promise<void> => (isRunning() ? pause() : play());

/** Change the state, with a snapshot before so that it can be undone. */
export async function change(wanted: Command, done: string): Promise<boolean> {
  const name = view.value.session;
  back.value = null;
  const stored = (await command(name, { kind: "snapshot", text: UNDO }))?.snapshot;
  if (!stored) return false;
  try {
    accept(name, await link.command(name, wanted));
  } catch (error) {
    refuse(name, error);
    void command(name, { kind: "forget", snapshot: stored.snapshot }); // there is nothing to undo
    return false;
  }
  const before = [...(undoable.value[name] ?? []), stored.snapshot];
  for (const old of before.splice(0, before.length - MOST_UNDO)) void command(name, { kind: "forget", snapshot: old });
  undoable.value = { ...undoable.value, [name]: before };
  await learn(name); // controls that show the value before would send what is done already
  notify("done", done);
  return true;
}

export async function undo(): Promise<void> {
  const name = view.value.session;
  const before = undoable.value[name] ?? [];
  const snapshot = before.at(-1);
  if (!snapshot) return notify("problem", "There is nothing to undo.");
  back.value = null;
  if (!(await command(name, { kind: "restore", snapshot }))) return;
  undoable.value = { ...undoable.value, [name]: before.slice(0, -1) };
  void command(name, { kind: "forget", snapshot });
  await learn(name);
  notify("done", "The run is back before the last change.");
}

export async function restore(snapshot: string): Promise<void> {
  back.value = null;
  if (await command(view.value.session, { kind: "restore", snapshot })) void learn(view.value.session);
}

/** Open a branch that goes on from now, and look at both. */
export async function branch(changes: Record<string, Value> = {}): Promise<SessionState | null> {
  const made = (await command(view.value.session, { kind: "branch", changes }))?.branch ?? null;
  if (!made) return null;
  sessions.value = { ...sessions.value, [made.session]: made };
  if (!infos.value[made.session]) await learn(made.session);
  look({ other: made.session, compare: "beside" });
  notify("done", `Branch ${made.session} goes on from here.`);
  return made;
}

export async function close(name: string): Promise<void> {
  await asked(() => http.send("DELETE", `/sessions/${name}`));
  if (view.value.other === name) look({ other: null });
}

/** Open a session of a case of the catalogue, or of the text of a case file, and look at it. */
export async function openCase(wanted: { case: string } | { toml: string }): Promise<void> {
  const made = await asked(() => http.send<SessionState>("POST", "/sessions", wanted));
  if (!made) return;
  sessions.value = { ...sessions.value, [made.session]: made };
  await learn(made.session);
  look({ session: made.session, other: null, camera: null, places: [], line: null, range: null });
}

/** Give up control with the page, so that others need not wait for its lease to end. */
export function leave(): void {
  for (const name of Object.keys(sessions.value)) {
    if (isMine(name)) void http.send("DELETE", `/sessions/${name}/control`).catch(() => undefined);
  }
}

export const isMine = (name: string): boolean => controls.value[name]?.yours ?? false;

/** Ask for control, or give it up. */
export async function lease(method: "POST" | "DELETE"): Promise<void> {
  const name = view.value.session;
  const told = await asked(() => http.send<Control>(method, `/sessions/${name}/control`, method === "POST" ? { ask: true } : undefined));
  if (!told) return;
  controls.value = { ...controls.value, [name]: told };
  if (method === "POST" && !told.yours) notify("done", `${told.controller ?? "The other one"} is asked to hand over.`);
}

/** Return the answer to a request, or null, telling what was refused. */
export async function asked<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    notify("problem", error instanceof Error ? error.message : String(error));
    return null;
  }
}
