// Fields in words: names, formulae, groups and search.
import type { Variable } from "../protocol/types";

/** Order of groups of fields; others follow. */
const ORDER = [
  "Pollutants", "Particles", "Plants", "Soil water", "Cattle", "Weather", "Organic gases", "Other gases", "Radicals", "Totals",
];
const OTHER = "Other";

export interface FieldGroup {
  title: string;
  fields: Variable[];
}

/** Return the name of a field in words. */
export const titleOf = (each: Variable): string => each.title || each.text || each.name;

/** Return the formula of a field, or the symbol of a species without one; empty for other fields. */
export const formulaOf = (each: Variable): string => each.formula || (isSpecies(each) ? each.name : "");

/** Return the name of a field with its formula: "Ozone O₃". */
export const fieldText = (each: Variable): string => [titleOf(each), formulaOf(each)].filter(Boolean).join(" ");

const isSpecies = (each: Variable): boolean => each.group === "species" || each.unit === "mol mol-1" && !each.title;

/** Return a text for comparisons: in lower case, without accents, with subscripts as digits. */
export function folded(text: string): string {
  const digits = text.replace(/[₀-₉]/g, (each) => String(each.charCodeAt(0) - 0x2080));
  return digits.normalize("NFD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
}

const wordsOf = (text: string): string[] => folded(text).split(/\s+/).filter(Boolean);

/** Return the fields that contain all words of a search, the best match first. */
export function found(all: readonly Variable[], search: string): Variable[] {
  const words = wordsOf(search);
  const content = (each: Variable) => folded([each.name, each.title, each.formula, each.text, each.keywords, each.topic].join(" "));
  const fits = all.filter((each) => words.every((word) => content(each).includes(word)));
  return words.length ? [...fits].sort((one, other) => rank(one, words) - rank(other, words)) : fits;
}

/** Return 0 for a symbol, 1 for the start of a name, 2 for a part of a name, and 3 for other matches. */
function rank(each: Variable, words: string[]): number {
  const first = words.join(" ");
  if ([each.name, each.formula].some((text) => folded(text ?? "") === first)) return 0;
  const title = folded(titleOf(each));
  return title.startsWith(first) ? 1 : title.includes(first) ? 2 : 3;
}

/** Return fields by group; favourites come first, and are in their own group too. */
export function grouped(all: readonly Variable[], favourites: readonly string[]): FieldGroup[] {
  const topics = [...new Set(all.map((each) => each.topic || OTHER))];
  const place = (topic: string) => (ORDER.includes(topic) ? ORDER.indexOf(topic) : ORDER.length);
  topics.sort((one, other) => place(one) - place(other));
  const groups = topics.map((title) => ({ title, fields: all.filter((each) => (each.topic || OTHER) === title) }));
  const chosen = all.filter((each) => favourites.includes(each.name));
  return chosen.length ? [{ title: "Favourites", fields: chosen }, ...groups] : groups;
}

/** Return fields in the order in which a model shows them first. */
export function inOrder(all: readonly Variable[], shown: readonly string[]): Variable[] {
  const place = (each: Variable) => (shown.includes(each.name) ? shown.indexOf(each.name) : shown.length);
  return [...all].sort((one, other) => place(one) - place(other));
}
