// Actions of users on the model.
import { errorText } from "../maths/format";
import type { Command, Result, SessionState } from "../protocol/types";
import { learnControl, controls, http, infos, learn, link, notify, session, sessions } from "./store";
import type { Value } from "./settings";
import { runTogether } from "./together";
import { forgetUndone } from "./undo";
import { look, showTime, view, watched } from "./view";

/** Send a command; a refusal becomes a notice, and the result is null. */
export async function command(name: string, request: Command): Promise<Result | null> {
  try {
    return accept(name, await link.command(name, request));
  } catch (error) {
    refuse(name, error);
    return null;
  }
}

function accept(name: string, result: Result): Result {
  sessions.value = { ...sessions.value, [name]: result.state };
  if (!isMine(name)) void learnControl(name);
  return result;
}

function refuse(name: string, error: unknown): void {
  notify("problem", errorText(error));
  void learnControl(name);
}

/** Sessions that advance together: both where two are compared. */
async function all(request: Command): Promise<void> {
  if (request.kind !== "pause") showTime(null);
  await Promise.all(watched.value.map((name) => command(name, request)));
}

export const isRunning = (): boolean => session.value?.status === "running";

/** Run the displayed runs to a time, by default to the end of the case, in step. */
export function play(until: number | string | null = null): Promise<void> {
  showTime(null);
  return runTogether(until);
}

export const pause = (): Promise<void> => all({ kind: "pause" });
export const step = (steps = 1): Promise<void> => all({ kind: "step", steps });
export const restart = (): Promise<void> => all({ kind: "restart" });
export const toggle = (): Promise<void> => (isRunning() ? pause() : play());

/** Change the state; the server stores the state before, so that the change can be undone. */
export async function change(request: Command, done: string): Promise<boolean> {
  const name = view.value.session;
  showTime(null);
  try {
    accept(name, await link.command(name, request));
  } catch (error) {
    refuse(name, error);
    return false;
  }
  forgetUndone();
  await learn(name); // controls with the old value would send the change again
  notify("done", done);
  return true;
}

export async function restore(snapshot: string): Promise<void> {
  showTime(null);
  if (await command(view.value.session, { kind: "restore", snapshot })) void learn(view.value.session);
}

/** Open a branch from the present state, and show both runs. */
export async function branch(changes: Record<string, Value> = {}): Promise<SessionState | null> {
  const made = (await command(view.value.session, { kind: "branch", changes }))?.branch ?? null;
  if (!made) return null;
  sessions.value = { ...sessions.value, [made.session]: made };
  if (!infos.value[made.session]) await learn(made.session);
  look({ other: made.session, compare: "beside" });
  notify("done", `“${made.scenario}” starts from here.`);
  return made;
}

/** Remove a run, and return to the one that it came from; return whether the server did so. */
export async function close(name: string): Promise<boolean> {
  const parent = sessions.value[name]?.parent;
  const removed = (await requested(async () => (await http.send("DELETE", `/sessions/${name}`), true))) ?? false;
  if (!removed) return false;
  if (view.value.other === name) look({ other: null });
  else if (view.value.session === name && parent) look({ session: parent, other: null });
  return true;
}

/** Stop runs that advance in step. */
export function leaveComparison(): void {
  const { other } = view.value;
  if (other && sessions.value[other]?.status === "running") void command(other, { kind: "pause" });
}

/** Open a session of a case of the catalogue or of a case file, and show it. */
export async function openCase(request: { case: string } | { toml: string }): Promise<void> {
  const made = await requested(() => http.send<SessionState>("POST", "/sessions", request));
  if (!made) return;
  sessions.value = { ...sessions.value, [made.session]: made };
  await learn(made.session);
  look({ session: made.session, other: null, camera: null, places: [], line: null, range: null });
}

/** Give up control when the page closes, so that other clients need not wait for the end of the lease. */
export function leave(): void {
  for (const name of Object.keys(sessions.value)) {
    if (isMine(name)) void http.send("DELETE", `/sessions/${name}/control`).catch(() => undefined);
  }
}

export const isMine = (name: string): boolean => controls.value[name]?.yours ?? false;

/** Return the response to a request; after a refusal show its message and return null. */
export async function requested<T>(send: () => Promise<T>): Promise<T | null> {
  try {
    return await send();
  } catch (error) {
    notify("problem", errorText(error));
    return null;
  }
}
