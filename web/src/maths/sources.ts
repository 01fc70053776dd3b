// Contributions of sources to a concentration: groups, sums, and the change that a cut of a source predicts.

export interface Row {
  kind: "emission" | "side" | "top" | "initial" | "deposition";
  source: string;
  country: string;
  sector: string;
  sector_text: string;
  pollutant: string;
  value: number;
  scale: string;
}

export const GROUPINGS = {
  source: "Each source", sector: "Sectors", country: "Countries", pollutant: "Pollutants",
} as const;
export type Grouping = keyof typeof GROUPINGS;

/** A line of the ranking. */
export interface Ranked {
  id: string;
  name: string;
  value: number;
  /** Key of `emissions.scale` that changes this source, empty for a source without one. */
  scale: string;
  /** Parts of the key, which prefill a scenario. */
  parts: { country?: string; sector?: string; pollutant?: string };
}

const KINDS: Record<Row["kind"], string> = {
  emission: "Emission", side: "Air from outside", top: "Air above the map", initial: "Air at the start", deposition: "Deposition",
};

/** Return the ranking of emission, with a line for each side of the map, for initial air and for deposition; the largest first. */
export function ranking(rows: readonly Row[], by: Grouping, names: (of: string, kind: "country" | "pollutant") => string): Ranked[] {
  const found = new Map<string, Ranked>();
  for (const row of rows) {
    const line = row.kind === "emission" ? ofEmission(row, by, names) : ofAir(row);
    const before = found.get(line.id);
    found.set(line.id, { ...line, value: line.value + (before?.value ?? 0) });
  }
  return [...found.values()].sort((one, other) => Math.abs(other.value) - Math.abs(one.value));
}

function ofEmission(row: Row, by: Grouping, names: (of: string, kind: "country" | "pollutant") => string): Ranked {
  const parts: Ranked["parts"] = {};
  if (by === "source" || by === "country") if (row.country) parts.country = row.country;
  if (by === "source" || by === "sector") if (row.sector) parts.sector = row.sector;
  if (by === "source" || by === "pollutant") if (row.pollutant) parts.pollutant = row.pollutant;
  const known = row.scale !== "";
  const words = [
    parts.sector && row.sector_text, parts.pollutant && names(parts.pollutant, "pollutant"), parts.country && names(parts.country, "country"),
  ].filter(Boolean);
  const name = known ? words.join(", ") : by === "source" && row.pollutant ? `${capital(row.source)}, ${names(row.pollutant, "pollutant")}` : capital(row.source);
  const scale = known ? [parts.country, parts.sector, parts.pollutant].filter(Boolean).join("/") : "";
  return { id: known ? scale : name, name, value: row.value, scale, parts: known ? parts : {} };
}

function ofAir({ kind, source, value }: Row): Ranked {
  const name = kind === "side" ? `Air from the ${source}` : kind === "deposition" ? capital(source) : KINDS[kind];
  return { id: `${kind} ${source}`, name, value, scale: "", parts: {} };
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Return the sums by kind. */
export function sums(rows: readonly Row[]): Record<Row["kind"], number> {
  const found = { emission: 0, side: 0, top: 0, initial: 0, deposition: 0 };
  for (const row of rows) found[row.kind] += row.value;
  return found;
}

/** Return the predicted change of the concentration where a source is multiplied by a factor. */
export const predicted = (contribution: number, factor: number): number => (factor - 1) * contribution;

/** Return the largest absolute value that most of the values do not exceed: single cells at the place would hide the others. */
export function bulk(values: Float32Array, part = 0.985): number {
  const sizes = [...values].filter((each) => Number.isFinite(each) && each !== 0).map(Math.abs).sort((a, b) => a - b);
  return sizes[Math.min(Math.floor(part * sizes.length), sizes.length - 1)] ?? 0;
}

/** Return the hours before the concentration in which a part of the sum of absolute contributions was emitted, the latest first. */
export function reach(hours: readonly { hours: number; value: number }[], part = 0.9): number {
  const total = hours.reduce((sum, each) => sum + Math.abs(each.value), 0);
  let sum = 0;
  for (const each of [...hours].sort((one, other) => one.hours - other.hours)) {
    sum += Math.abs(each.value);
    if (sum >= part * total) return each.hours;
  }
  return 0;
}
