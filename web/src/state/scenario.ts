// The card of a scenario: its changes in the menus, the name that is made of them, and its start.
import { computed, signal } from "@preact/signals";
import type { SessionState, SnapshotInfo } from "../protocol/types";
import { command } from "./actions";
import { timeText } from "./clock";
import { leversOf, nameOfChanges, valuesByPath, type KeyKind, type Lever } from "./levers";
import type { Value } from "./settings";
import { http, info, infos, learn, logs, notify, session, sessions } from "./store";
import { runTogether } from "./together";
import { look, view } from "./view";

/** One change in the card: a lever with the words of its keys, and the change in per cent, or a switch. */
export interface Change {
  path: string;
  keys: Partial<Record<KeyKind, string>>;
  percent: number;
  on: boolean;
}

export type Start = "day" | "now";

export const levers = computed<Lever[]>(() => (info.value ? leversOf(info.value.settings) : []));
export const present = computed<Record<string, unknown>>(() => (info.value ? valuesByPath(info.value.values) : {}));

/** Whether the card is open, its changes, the name that the user wrote, and the start. */
export const cardOpen = signal(false);
export const draft = signal<Change[]>([]);
export const ownName = signal("");
export const startAt = signal<Start>("day");

/** Text of the snapshot that the server takes at the end of a spin-up. */
const DAY = "the start of the day";
const START = "start";

/** Order in which the codes of a key are written. */
const ORDER: KeyKind[] = ["country", "sector", "pollutant", "species"];

/** Return a first change of a lever: half of its road traffic, or of its first key. */
export function firstChange(lever: Lever): Change {
  const traffic = Object.entries(lever.keys).find(([, [, words]]) => words === "Road transport")?.[0];
  const [code, [kind]] = Object.entries(lever.keys)[0] ?? ["", ["sector"]];
  const keys = traffic ? { sector: traffic } : lever.kind === "factors" && kind === "species" ? { species: code } : {};
  return { path: lever.path, keys, percent: lever.kind === "number" ? 50 : -50, on: present.value[lever.path] !== true };
}

/** Return the path of a change and its value: a factor or number relative to the present one. */
export function valueOf(change: Change, all: Lever[], before: Record<string, unknown>): [path: string, value: Value] {
  const lever = all.find((each) => each.path === change.path);
  if (lever?.kind === "switch") return [change.path, change.on];
  const code = ORDER.map((kind) => change.keys[kind]).filter(Boolean).join("/");
  const path = lever?.kind === "factors" ? `${change.path}.${code}` : change.path;
  const now = typeof before[path] === "number" ? before[path] : 1;
  return [path, Number((now * (1 + change.percent / 100)).toPrecision(6))];
}

/** Return the changes of a card as a patch; changes of the same setting are multiplied. */
export function patchOf(changes: Change[], all: Lever[], before: Record<string, unknown>): Record<string, Value> {
  const patch: Record<string, Value> = {};
  for (const each of changes) {
    const [path, value] = valueOf(each, all, { ...before, ...patch });
    patch[path] = value;
  }
  return patch;
}

/** Whether a change has a subject: a factor needs a country, a sector or a pollutant. */
export const isComplete = (change: Change, all: Lever[]): boolean =>
  all.find((each) => each.path === change.path)?.kind !== "factors" || Object.values(change.keys).some(Boolean);

export const patch = computed(() => patchOf(draft.value.filter((each) => isComplete(each, levers.value)), levers.value, present.value));
export const madeName = computed(() => nameOfChanges(patch.value, levers.value, present.value));

/** The country of the card, for means; the first one where there are several. */
export function countryOf(changes: Record<string, unknown>, all: Lever[]): string {
  for (const path of Object.keys(changes)) {
    const lever = all.find((each) => path.startsWith(`${each.path}.`));
    const found = path.slice((lever?.path.length ?? 0) + 1).split("/").map((part) => lever?.keys[part]).find((each) => each?.[0] === "country");
    if (found) return found[1];
  }
  return "";
}

export function openCard(): void {
  cardOpen.value = true;
  ownName.value = "";
  const [first] = levers.value;
  const emissions = levers.value.find((each) => each.path === "emissions.scale") ?? first;
  if (!draft.value.length && emissions) draft.value = [firstChange(emissions)];
}

export function edit(at: number, change: Partial<Change>): void {
  draft.value = draft.value.map((each, k) => (k === at ? { ...each, ...change } : each));
}

/** Return the snapshot from which the whole day is compared: that of the day after a spin-up, otherwise the start. */
export function startOf(snapshots: SnapshotInfo[]): SnapshotInfo | null {
  return snapshots.findLast((each) => each.text === DAY) ?? snapshots.find((each) => each.snapshot === START) ?? null;
}

/** The beginning of a run that this page has opened with changes. */
export interface Opened {
  from: string;
  snapshot: string | null;
  changes: Record<string, Value>;
  scenario: string;
  /** Number of the last entry in the log of the run that it came from. */
  after: number;
}

/** Runs that this page has opened with changes, the last one at the end. */
export const opened = signal<Record<string, Opened>>({});

/** Open the scenario of the card as a run of its own, show both runs, and run them in step. */
export async function tryScenario(): Promise<SessionState | null> {
  const from = view.value.session;
  const snapshot = startAt.value === "day" ? startOf(await http.get<SnapshotInfo[]>(`/sessions/${from}/snapshots`)) : null;
  const made = await open(from, snapshot?.snapshot ?? null, patch.value, ownName.value || madeName.value);
  if (!made) return null;
  cardOpen.value = false;
  draft.value = [];
  look({ other: made.session, compare: "swipe", at: null });
  notify("done", `“${made.scenario}” starts at ${timeText(made.time, "hour")}. Both runs continue in step.`);
  void runTogether();
  return made;
}

/** Open a branch with changes, and learn its description. */
export async function open(from: string, snapshot: string | null, changes: Record<string, Value>, scenario: string): Promise<SessionState | null> {
  const made = (await command(from, { kind: "branch", snapshot, changes, scenario }))?.branch ?? null;
  if (!made) return null;
  if (Object.keys(changes).length) opened.value = { ...opened.value, [made.session]: { from, snapshot, changes, scenario: made.scenario, after: logs.value[from]?.at(-1)?.number ?? -1 } };
  sessions.value = { ...sessions.value, [made.session]: { ...made, ...sessions.value[made.session] } };
  if (!infos.value[made.session]) await learn(made.session);
  return made;
}

export async function rename(name: string, scenario: string): Promise<void> {
  if (scenario.trim() && scenario !== session.value?.scenario) await command(name, { kind: "rename", scenario: scenario.trim().slice(0, 80) });
}
