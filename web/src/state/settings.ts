// What may change while the model runs: numbers of processes, and settings of the case, out of what the server tells.
import { computed, signal } from "@preact/signals";
import type { SettingInfo, Variable } from "../protocol/types";
import { info } from "./store";

export type Value = number | string | boolean;

/** One thing to set: a number, a switch, words to choose from, or a text with a unit. */
export interface Knob {
  name: string;
  label: string;
  group: string;
  text: string;
  unit: string;
  range: string;
  kind: "number" | "switch" | "words" | "text";
  words: string[];
  value: Value | null;
}

/** A table of them, by pollutant, sector, country or species: rows are added by their names. */
export interface Table {
  name: string;
  group: string;
  text: string;
  unit: string;
  keys: string[];
  quantities: boolean;
  rows: Knob[];
}

/** What was entered and not yet sent, by name. */
export const pending = signal<Record<string, Value>>({});
/** Rows that were added to tables, by the table's name. */
export const added = signal<Record<string, string[]>>({});

export function enter(name: string, value: Value | null): void {
  const { [name]: _before, ...others } = pending.value;
  pending.value = value === null ? others : { ...others, [name]: value };
}

/** What was sent is no longer pending, unless it was entered anew since. */
export function forget(sent: Record<string, Value>): void {
  pending.value = Object.fromEntries(Object.entries(pending.value).filter(([name, value]) => sent[name] !== value));
  added.value = Object.fromEntries(Object.entries(added.value).map(([table, rows]) => [table, rows.filter((row) => !(`${table}.${row}` in sent))]));
}

export const knobs = computed<Knob[]>(() => {
  const all = info.value;
  if (!all) return [];
  const numbers = all.variables.filter((each) => each.settable && each.dims.length === 0).map(ofNumber);
  return [...numbers, ...all.settings.filter((each) => !isTable(each) && kindOf(each.kind)).map(ofSetting)];
});

export const tables = computed<Table[]>(() => (info.value?.settings ?? []).filter(isTable).map(ofTable));

export const groups = computed<string[]>(() => [...new Set([...tables.value, ...knobs.value].map((each) => each.group))]);

const isTable = (setting: SettingInfo): boolean => setting.kind.startsWith("table of");

function ofNumber(each: Variable): Knob {
  const [low, high] = each.valid ?? [null, null];
  const range = low === null && high === null ? "" : `${low ?? "−∞"} to ${high ?? "∞"}`;
  return {
    name: each.name, label: each.text || each.name, group: each.group || "numbers", text: each.name, unit: each.unit, range, kind: "number",
    words: [], value: each.value,
  };
}

function ofSetting(setting: SettingInfo): Knob {
  const { key, text, unit, range, value } = setting;
  return {
    name: key, label: labelOf(key), group: groupOf(key), text, unit, range, kind: kindOf(setting.kind) ?? "text",
    words: wordsOf(setting.kind), value: value as Value | null,
  };
}

function ofTable(setting: SettingInfo): Table {
  const { key, text, unit, keys } = setting;
  const held = (setting.value ?? {}) as Record<string, Value>;
  const quantities = setting.kind.includes("quantit");
  const names = [...new Set([...Object.keys(held), ...(added.value[key] ?? [])])];
  const rows = names.map((name): Knob => ({
    name: `${key}.${name}`, label: name, group: groupOf(key), text: "", unit, range: setting.range, kind: quantities ? "text" : "number", words: [],
    value: held[name] ?? (quantities ? "" : 1),
  }));
  return { name: key, group: groupOf(key), text, unit, keys: keys.filter((name) => !names.includes(name)), quantities, rows };
}

/** Files and lists of them are the case's own: nobody sets them from outside. */
function kindOf(kind: string): Knob["kind"] | null {
  if (kind === "text" || kind.startsWith("list")) return null;
  if (kind.includes("true or false")) return "switch";
  if (kind.includes("quantity")) return "text";
  return kind.includes("number") ? "number" : "words";
}

const wordsOf = (kind: string): string[] => [...kind.matchAll(/"([^"]+)"/g)].map((found) => found[1] ?? "");
const groupOf = (key: string): string => (key.split(".")[0] ?? key).replaceAll("_", " ");
const labelOf = (key: string): string => key.split(".").slice(1).join(".").replaceAll("_", " ");
