// Levers of scenarios: settings that have plain words, from the JSON Schema of the case (`x-lever`).
import type { Value } from "./settings";

/** Kinds of keys of a table of factors. */
export type KeyKind = "country" | "sector" | "pollutant" | "species";

export interface Lever {
  path: string;
  /** Subject of the change; {} is replaced by the words of a key. */
  text: string;
  hint: string;
  /** Factors by keys, a number, or a switch. */
  kind: "factors" | "number" | "switch";
  /** Kind and words of the keys of a table. */
  keys: Record<string, [kind: KeyKind, words: string]>;
}

interface Node {
  type?: string;
  anyOf?: Node[];
  properties?: Record<string, Node>;
  "x-lever"?: { text: string; hint?: string; keys?: Lever["keys"] };
}

const KINDS: Lever["kind"][] = ["factors", "number", "switch"];

/** Return the levers of a case: amounts first, then switches. */
export function leversOf(schema: unknown): Lever[] {
  return [...walk(schema as Node, "")].sort((one, other) => KINDS.indexOf(one.kind) - KINDS.indexOf(other.kind));
}

function* walk(node: Node, path: string): Generator<Lever> {
  for (const [key, each] of Object.entries(node.properties ?? {})) yield* walk(each, path ? `${path}.${key}` : key);
  const found = node["x-lever"];
  if (!found) return;
  const keys = found.keys ?? {};
  const isSwitch = [node, ...(node.anyOf ?? [])].some((each) => each.type === "boolean");
  yield { path, text: found.text, hint: found.hint ?? "", keys, kind: Object.keys(keys).length ? "factors" : isSwitch ? "switch" : "number" };
}

/** Return the settings of a case by dotted paths. */
export function valuesByPath(values: unknown, path = ""): Record<string, unknown> {
  if (values === null || typeof values !== "object") return path ? { [path]: values } : {};
  const entries = Object.entries(values as Record<string, unknown>);
  return Object.assign({}, ...entries.map(([key, each]) => valuesByPath(each, path ? `${path}.${key}` : key))) as Record<string, unknown>;
}

export const LONGEST_NAME = 80;

/** Return the name of a scenario from its changes; the server makes the same one (airshed.serve.scenarios.names). */
export function nameOfChanges(changes: Record<string, unknown>, levers: Lever[], before: Record<string, unknown>): string {
  const groups = new Map<string, string[]>();
  for (const [path, value] of leaves(changes, levers)) {
    const [words, country] = wordsOf(path, value, levers, before);
    const group = groups.get(country) ?? [];
    if (!group.includes(words)) group.push(words);
    groups.set(country, group);
  }
  return shortened([...groups].map(([country, items]) => (country ? `${listed(items)}, ${country}` : listed(items))).join("; "));
}

export function shortened(name: string): string {
  const plain = name.split(/\s+/).filter(Boolean).join(" ");
  return [...plain].length <= LONGEST_NAME ? plain : `${[...plain].slice(0, LONGEST_NAME - 1).join("").trimEnd()}…`;
}

function leaves(changes: Record<string, unknown>, levers: Lever[]): [string, unknown][] {
  return Object.entries(changes).flatMap(([path, value]): [string, unknown][] =>
    levers.some((each) => each.path === path) && value !== null && typeof value === "object"
      ? Object.entries(value).map(([key, each]) => [`${path}.${key}`, each])
      : [[path, value]],
  );
}

function wordsOf(path: string, value: unknown, levers: Lever[], before: Record<string, unknown>): [words: string, country: string] {
  const table = levers.find((each) => each.kind === "factors" && path.startsWith(`${each.path}.`));
  if (table) {
    const [subject, country] = subjectOf(path.slice(table.path.length + 1), table);
    return [`${subject} ${amount(value, before[path] ?? 1)}`, country];
  }
  const lever = levers.find((each) => each.path === path);
  const label = lever?.text ?? path.replaceAll(".", " ").replaceAll("_", " ");
  if (typeof value === "boolean") return [`${label} ${value ? "on" : "off"}`, ""];
  if (lever) return [`${label} ${amount(value, before[path])}`, ""];
  return [value !== null && typeof value === "object" ? `${label}: ${Object.keys(value).join(", ")}` : `${label} = ${String(value)}`, ""];
}

/** Return the subject of a factor and its country: of "DE/F_RoadTransport" Road transport and Germany. */
export function subjectOf(key: string, lever: Lever): [subject: string, country: string] {
  const found: Partial<Record<KeyKind, string>> = Object.fromEntries(key.split("/").map((part) => lever.keys[part] ?? ["sector", part]));
  const { sector } = found;
  const pollutant = found.pollutant ?? found.species;
  const subject = sector && pollutant ? `${pollutant} of ${sector.charAt(0).toLowerCase()}${sector.slice(1)}` : (sector ?? pollutant ?? "All emissions");
  return [lever.text.replace("{}", subject), found.country ?? ""];
}

/** Return a change in per cent of the value before it, or the value where there is none. */
function amount(value: unknown, before: unknown): string {
  if (typeof value !== "number" || typeof before !== "number" || before === 0) return String(value);
  const change = Math.round(1000 * (value / before - 1)) / 10;
  return `${change < 0 ? "−" : "+"}${Math.abs(change)} %`;
}

const listed = (items: string[]): string => (items.length < 2 ? (items[0] ?? "") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`);

/** Return changes as lines of a case file, one table after another. */
export function asToml(changes: Record<string, unknown>): string {
  return Object.entries(changes).map(([path, value]) => `${quotedPath(path)} = ${tomlValue(value)}`).join("\n");
}

/** Return changes as options of `airshed run` on a command line. */
export function asOptions(changes: Record<string, unknown>): string {
  return Object.entries(changes).map(([path, value]) => `--set '${path}=${tomlValue(value)}'`).join(" ");
}

const quotedPath = (path: string): string => path.split(".").map((part) => (/^[\w-]+$/.test(part) ? part : JSON.stringify(part))).join(".");

function tomlValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  if (value !== null && typeof value === "object") return `{ ${Object.entries(value).map(([key, each]) => `${quotedPath(key)} = ${tomlValue(each)}`).join(", ")} }`;
  return JSON.stringify(value as Value);
}
