// Control of runs, which one person has at a time: requested, handed over, refused, or left.
import { effect } from "@preact/signals";
import { storeName } from "../protocol/access";
import type { Control } from "../protocol/types";
import { requested } from "./actions";
import { nameOf } from "./names";
import { isReader, nameWanted } from "./people";
import { hasModel } from "./playback";
import { controls, http, identity, link, notify, sessions } from "./store";
import { view } from "./view";

/** Whether this page may change and run a run: it has a model, and the page is not a reader's. */
export const canSteer = (name = view.value.session): boolean => hasModel(name) && !isReader.value;

const update = (name: string, control: Control | null): void => {
  if (control) controls.value = { ...controls.value, [name]: control };
};

const send = (method: "POST" | "DELETE", name: string, path = ""): Promise<Control | null> =>
  requested(() => http.send<Control>(method, `/sessions/${name}/control${path}`, method === "POST" ? { ask: true } : undefined));

/** Take control of a run if it is free; otherwise request it from its holder. */
export async function askForControl(name = view.value.session): Promise<void> {
  const control = await send("POST", name);
  update(name, control);
  if (!control || control.yours) return;
  const first = control.asking ?? "Another person";
  if (control.asked) notify("done", `${control.controller ?? "The holder"} sees your request for control.`);
  else notify("problem", `${first} waits for control already. Try again later.`);
}

/** Give control up, to the person who requests it. */
export async function handOver(name: string): Promise<void> {
  update(name, await send("DELETE", name));
}

/** Refuse the request for control, or withdraw the own one. */
export async function decline(name: string): Promise<void> {
  update(name, await send("DELETE", name, "/request"));
}

/** Runs whose control this page has, and another person requests. */
export const askedFor = (): [name: string, person: string][] =>
  Object.entries(controls.value).flatMap(([name, each]) => (each.yours && each.asking && sessions.value[name] ? [[name, each.asking]] : []));

/** Return the outcome of a request for control in words; null while there is none. */
export function outcome(before: Control | undefined, now: Control, name: string): string | null {
  if (!before?.asked || now.asked) return null;
  if (now.yours) return `You control “${name}” now.`;
  return now.controller ? `${now.controller} keeps control of “${name}” for now.` : `Control of “${name}” is free.`;
}

/** Choose a name, which the browser stores; the server may add a number. An empty one keeps the given name. */
export function rename(name: string): void {
  nameWanted.value = false;
  identity.named = true;
  storeName(name.trim());
  if (name.trim()) link.rename(name.trim());
}

/** Report the outcome of requests for control. */
export function followControl(): void {
  let before: Record<string, Control> = {};
  effect(() => {
    for (const [name, now] of Object.entries(controls.value)) {
      const said = outcome(before[name], now, nameOf(name));
      if (said) queueMicrotask(() => notify("done", said));
    }
    before = controls.value;
  });
}
