// Settings that can be changed during a run, from the JSON Schema of the case, and settable numbers of the model.
import { computed, signal } from "@preact/signals";
import type { Variable } from "../protocol/types";
import { info } from "./store";

export type Value = number | string | boolean;

/** Effect of a change: the model sets the value, or is rebuilt with the changed case. */
export type Effect = "in place" | "rebuild";

/** A setting: a number, a switch, a choice of words, or a text with a unit. */
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
  effect: Effect;
}

/** A table of settings, by pollutant, sector, country or species: rows are added by their names. */
export interface Table {
  name: string;
  group: string;
  text: string;
  unit: string;
  keys: string[];
  rows: Knob[];
}

/** Values that were entered and not yet sent, by name. */
export const pending = signal<Record<string, Value>>({});
/** Rows that were added to tables, by the table's name. */
export const added = signal<Record<string, string[]>>({});

export function enter(name: string, value: Value | null): void {
  const { [name]: _before, ...others } = pending.value;
  pending.value = value === null ? others : { ...others, [name]: value };
}

/** Remove sent values from the pending ones, unless they were changed in the meantime. */
export function forget(sent: Record<string, Value>): void {
  pending.value = Object.fromEntries(Object.entries(pending.value).filter(([name, value]) => sent[name] !== value));
  added.value = Object.fromEntries(Object.entries(added.value).map(([table, rows]) => [table, rows.filter((row) => !(`${table}.${row}` in sent))]));
}

/** Part of the JSON Schema of a case, as in `ModelInfo.settings`. */
export interface Schema {
  type?: string | string[];
  format?: string;
  enum?: string[];
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  description?: string;
  "x-effect"?: Effect;
  "x-unit"?: string;
  "x-range"?: string;
  "x-keys"?: string[];
}

interface Setting {
  path: string;
  schema: Schema;
  value: unknown;
}

const settings = computed<Setting[]>(() => (info.value ? [...changeable(info.value.settings as Schema, info.value.values, "")] : []));

export const tables = computed<Table[]>(() => settings.value.filter(isTable).map(ofTable));

export const knobs = computed<Knob[]>(() => {
  const single = settings.value.filter((each) => !isTable(each) && controlOf(each.schema)).map(ofSetting);
  const paths = [...single, ...tables.value].map((each) => each.name.replaceAll(".", "_"));
  const others = (info.value?.variables ?? []).filter((each) => each.settable && each.dims.length === 0 && !paths.some((path) => each.name === path || each.name.startsWith(`${path}_`)));
  return [...others.map(ofNumber), ...single];
});

export const groups = computed<string[]>(() => [...new Set([...tables.value, ...knobs.value].map((each) => each.group))]);

/** Yield the settings that can be changed; for lists of tables, those of each item. */
function* changeable(schema: Schema, value: unknown, path: string): Generator<Setting> {
  const within = (key: string) => (path ? `${path}.${key}` : key);
  if (schema.properties) {
    for (const [key, each] of Object.entries(schema.properties)) yield* changeable(each, (value as Record<string, unknown> | undefined)?.[key], within(key));
  } else if (schema.items?.properties) {
    for (const [number, each] of ((value ?? []) as unknown[]).entries()) yield* changeable(schema.items, each, within(String(number)));
  } else if (schema["x-effect"]) yield { path, schema, value };
}

const isTable = ({ schema }: Setting): boolean => typeof schema.additionalProperties === "object" && controlOf(schema.additionalProperties) !== null;

/** Return the control of a setting; null for files, texts and lists, which the page does not set. */
function controlOf(schema: Schema): Knob["kind"] | null {
  const kinds = [schema, ...(schema.anyOf ?? [])];
  if (kinds.some((each) => each.type === "boolean")) return "switch";
  if (kinds.some((each) => each.format === "quantity")) return "text";
  if (kinds.some((each) => each.type === "number" || each.type === "integer")) return "number";
  return wordsOf(schema).length ? "words" : null;
}

const wordsOf = (schema: Schema): string[] => [schema, ...(schema.anyOf ?? [])].flatMap((each) => each.enum ?? []);

function ofNumber(each: Variable): Knob {
  const [low, high] = each.valid ?? [null, null];
  const range = low === null && high === null ? "" : `${low ?? "−∞"} to ${high ?? "∞"}`;
  return {
    name: each.name, label: each.text || each.name, group: each.group || "numbers", text: each.name, unit: each.unit, range, kind: "number",
    words: [], value: each.value, effect: "in place",
  };
}

function ofSetting({ path, schema, value }: Setting): Knob {
  return {
    name: path, label: labelOf(path), group: groupOf(path), text: schema.description ?? "", unit: schema["x-unit"] ?? "", range: schema["x-range"] ?? "",
    kind: controlOf(schema) ?? "text", words: wordsOf(schema), value: (value ?? null) as Value | null, effect: schema["x-effect"]!,
  };
}

function ofTable({ path, schema, value }: Setting): Table {
  const held = (value ?? {}) as Record<string, Value>;
  const kind = controlOf(schema.additionalProperties as Schema)!;
  const unit = schema["x-unit"] ?? "";
  const names = [...new Set([...Object.keys(held), ...(added.value[path] ?? [])])];
  const rows = names.map((name): Knob => ({
    name: `${path}.${name}`, label: name, group: groupOf(path), text: "", unit, range: schema["x-range"] ?? "", kind, words: [],
    value: held[name] ?? (kind === "number" ? 1 : ""), effect: schema["x-effect"]!,
  }));
  return { name: path, group: groupOf(path), text: schema.description ?? "", unit, keys: (schema["x-keys"] ?? []).filter((name) => !names.includes(name)), rows };
}

const groupOf = (path: string): string => (path.split(".")[0] ?? path).replaceAll("_", " ");
const labelOf = (path: string): string => path.split(".").slice(1).join(".").replaceAll("_", " ");
