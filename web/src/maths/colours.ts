// Colour tables, generated from those of the pictures (web/generate.py): 256 colours from low to high.
import made from "../../generated/colours.json";

export const COUNT = 256;

interface Table {
  colours: string;
  /** The colours in words. */
  text: string;
  /** Whether the middle is neutral, as of a difference. */
  diverging: boolean;
}

const TABLES: Record<string, Table> = made.tables;

/** Tables of values of one direction, which users may choose. */
export const NAMES = Object.keys(TABLES).filter((name) => !TABLES[name]?.diverging);
/** Name of the table of values with two directions: it depends on the theme. */
export const SIGNED = "signed";
export const OTHER = made.defaults.other;

export const textOf = (name: string): string => TABLES[name]?.text ?? name;

/** Return the table of differences: its middle is light on a light page, and dark on a dark one. */
export const signedTable = (dark: boolean): string => (dark ? made.defaults.dark : made.defaults.light);

const decoded = new Map<string, Uint8Array>();

/** Return a table as RGB bytes, colour after colour. The last colour is that of values beyond the high end. */
export function table(name: string): Uint8Array {
  let found = decoded.get(name);
  if (!found) {
    const of = TABLES[name] ?? TABLES[OTHER]!;
    found = Uint8Array.from(atob(of.colours), (each) => each.charCodeAt(0));
    if (!of.diverging) found.set(beyond(found), 3 * (COUNT - 1));
    decoded.set(name, found);
  }
  return found;
}

/** Return the colour beyond the high end: further away from the first colour in lightness. */
function beyond(rgb: Uint8Array): number[] {
  const sum = (at: number) => [0, 1, 2].reduce((total, k) => total + (rgb[at + k] ?? 0), 0);
  const last = 3 * (COUNT - 1);
  const [to, part] = sum(last) > sum(0) ? [255, 0.75] : [20, 0.6];
  return [0, 1, 2].map((k) => Math.round((rgb[last + k] ?? 0) * (1 - part) + to * part));
}

/** Return the colour of a table at a fraction of its range, for CSS. */
export function colourAt(name: string, fraction: number): string {
  const rgb = table(name);
  const at = 3 * Math.min(Math.max(Math.floor(fraction * COUNT), 0), COUNT - 1);
  return `rgb(${rgb[at]} ${rgb[at + 1]} ${rgb[at + 2]})`;
}

/** Return a table as a CSS gradient, from left to right, without the colour beyond its end. */
export function gradient(name: string): string {
  const stops = Array.from({ length: 33 }, (_, k) => colourAt(name, ((k / 32) * (COUNT - 2)) / COUNT));
  return `linear-gradient(to right, ${stops.join(", ")})`;
}
