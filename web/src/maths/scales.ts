// Default scales and limit values of fields, generated from those of the pictures (src/airshed/plot/scales.toml).
import made from "../../generated/colours.json";
import { OTHER } from "./colours";
import type { Range } from "./range";
import { REFERENCE_AIR, type Unit } from "./units";
import type { Variable } from "../protocol/types";

export interface FieldScale {
  /** The default unit, by its label, and the range in it. */
  unit: string;
  range: number[];
  log?: boolean;
  table: string;
  /** Whether masses are in the air as it is, instead of at 293 K and 101.3 kPa. */
  particle?: boolean;
}

export interface Limit {
  set_by: string;
  kind: string;
  /** [µg/m³] */
  value: number;
  /** The averaging time. */
  mean: string;
  source: string;
  label: string;
}

const FIELDS: Record<string, FieldScale> = made.fields;
const LIMITS: Record<string, Limit[]> = made.limits;

/** Return the default scale of a field, or null for a field that has none. */
export const scaleOf = (variable: Variable): FieldScale | null => (Object.hasOwn(FIELDS, variable.name) ? FIELDS[variable.name]! : null);

export const limitsOf = (variable: Variable): Limit[] => (Object.hasOwn(LIMITS, variable.name) ? LIMITS[variable.name]! : []);

export const tableOf = (variable: Variable): string => scaleOf(variable)?.table ?? OTHER;

/** Return the default range in a unit: as it is in the default unit, and converted to round numbers in another one. */
export function rangeIn(scale: FieldScale, unit: Unit, units: Unit[]): Range | null {
  const [low = 0, high = 1] = scale.range;
  const own = units.find((each) => each.label === scale.unit);
  const log = scale.log ?? false;
  if (!own) return null;
  if (own === unit) return { low, high, log };
  const convert = (value: number) => ((value - own.offset) / perSI(own)) * perSI(unit) + unit.offset;
  const rounded = unit.offset === own.offset ? roundNumber : (value: number) => value;
  return { low: rounded(convert(low)), high: rounded(convert(high)), log };
}

/** Return the factor from SI; units by air with that of the reference state. */
const perSI = (unit: Unit): number => unit.factor * (unit.byAir ? REFERENCE_AIR : 1);

/** Return the limits of a field in a unit; none in units that depend on the air of each cell, except for particles. */
export function limitsIn(variable: Variable, unit: Unit, units: Unit[]): (Limit & { at: number })[] {
  const mass = units.find((each) => each.label === "µg/m³");
  if (!mass || mass.byAir !== unit.byAir || (unit.byAir && unit !== mass)) return [];
  return limitsOf(variable).map((each) => ({ ...each, at: (each.value / mass.factor) * unit.factor }));
}

const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10];

/** Return the nearest round number. */
export function roundNumber(value: number): number {
  if (!value) return 0;
  const decade = 10 ** Math.floor(Math.log10(Math.abs(value)));
  const part = Math.abs(value) / decade;
  const nearest = ROUND.reduce((best, each) => (Math.abs(each - part) < Math.abs(best - part) ? each : best));
  return Number((Math.sign(value) * nearest * decade).toPrecision(6));
}
