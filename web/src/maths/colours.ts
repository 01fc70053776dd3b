// Colour tables, generated from those of the pictures (web/generate.py): 256 colours from low to high.
import made from "../../generated/colours.json";

export const COUNT = 256;

const TABLES: Record<string, string> = made.tables;
const FIELDS: Record<string, string> = made.fields;

export const SIGNED = made.signed;
export const NAMES = Object.keys(TABLES).sort();

const decoded = new Map<string, Uint8Array>();

/** Return a table as RGB bytes, colour after colour. */
export function table(name: string): Uint8Array {
  let found = decoded.get(name);
  if (!found) {
    const text = atob(TABLES[name] ?? TABLES[made.other] ?? "");
    found = Uint8Array.from(text, (each) => each.charCodeAt(0));
    decoded.set(name, found);
  }
  return found;
}

export function tableOf(variable: string): string {
  return FIELDS[variable] ?? made.other;
}

/** Return a table as a CSS gradient, from left to right. */
export function gradient(name: string): string {
  const rgb = table(name);
  const stops = Array.from({ length: 33 }, (_, k) => {
    const at = Math.round((k / 32) * (COUNT - 1)) * 3;
    return `rgb(${rgb[at]} ${rgb[at + 1]} ${rgb[at + 2]})`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}
