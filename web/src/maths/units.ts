// Display units. Mixing ratios are converted to masses or molecules per volume by the amount of air.
import type { Variable } from "../protocol/types";

export interface Unit {
  id: string;
  label: string;
  factor: number;
  offset: number;
  /** Whether values are also multiplied by the amount of air [mol m-3] of their cell. */
  byAir: boolean;
}

const AVOGADRO = 6.02214076e23; // mol-1, exact (SI 2019)
const GAS_CONSTANT = 8.31446261815324; // J mol-1 K-1, exact (SI 2019)
/** Amount of air at 293 K and 101.3 kPa [mol m-3], to which the law refers gases in µg/m³. */
export const REFERENCE_AIR = 101300 / (GAS_CONSTANT * 293);
const MIXING_RATIO = ["mol mol-1", "mol/mol", "mole mole-1"];

const ALTERNATIVES: Record<string, [label: string, factor: number, offset: number][]> = {
  K: [["°C", 1, -273.15], ["K", 1, 0]],
  Pa: [["hPa", 0.01, 0]],
  "kg m-2 s-1": [["mm/h", 3600, 0], ["mm/day", 86400, 0]],
  "m s-1": [["m/s", 1, 0], ["km/h", 3.6, 0]],
  degC: [["°C", 1, 0]],
};

const plain = (label: string, factor = 1, offset = 0): Unit => ({ id: label, label, factor, offset, byAir: false });

const known = new WeakMap<Variable, Unit[]>();

/**
 * Return the display units of a variable, the default one first. `hasAir`: the amount of air is known.
 * `inAir`: masses are those in the air as it is, as for particles, instead of those at the reference state.
 * The objects are the same in each call, so that unchanged parts are not drawn again.
 */
export function unitsOf(variable: Variable, hasAir: boolean, inAir = false): Unit[] {
  const found = known.get(variable) ?? madeUnits(variable, hasAir, inAir);
  known.set(variable, found);
  return found;
}

function madeUnits(variable: Variable, hasAir: boolean, inAir: boolean): Unit[] {
  if (MIXING_RATIO.includes(variable.unit)) return mixingRatios(variable, hasAir, inAir);
  const others = ALTERNATIVES[variable.unit]?.map(([label, factor, offset]) => plain(label, factor, offset)) ?? [];
  const own = plain(pretty(variable.unit));
  return others.some((each) => each.factor === 1 && each.offset === 0) ? others : [...others, own];
}

function mixingRatios(variable: Variable, hasAir: boolean, inAir: boolean): Unit[] {
  const mass = variable.molar_mass ? { id: "ug/m3", label: "µg/m³", factor: variable.molar_mass * 1e9, offset: 0 } : null;
  const ofAir = mass && inAir && hasAir ? [{ ...mass, byAir: true }] : [];
  const atReference = mass && !inAir ? [{ ...mass, factor: mass.factor * REFERENCE_AIR, byAir: false }] : [];
  const count = hasAir ? [{ id: "molecules/cm3", label: "molecules/cm³", factor: AVOGADRO * 1e-6, offset: 0, byAir: true }] : [];
  return [...ofAir, ...atReference, plain("ppb", 1e9), plain("ppm", 1e6), plain("ppt", 1e12), ...count];
}

/** Return the unit of an id, or that of the default label, or for mixing ratios the one with few zeros for `largest`. */
export function unitFor(units: Unit[], id: string | null, largest: number, label: string | null = null): Unit {
  const chosen = units.find((each) => each.id === id) ?? units.find((each) => each.label === label);
  if (chosen) return chosen;
  const usual = units.find((each) => each.id === ratioUnit(largest));
  return usual ?? units[0] ?? plain("1");
}

function ratioUnit(largest: number): string {
  if (largest >= 1e-5) return "ppm";
  return largest >= 2e-11 || !(largest > 0) ? "ppb" : "ppt";
}

/** Return values in a unit, from SI; `air` [mol m-3] has the shape of the values. */
export function convert(values: Float32Array, unit: Unit, air: Float32Array | null): Float32Array {
  if (unit.byAir) return values.map((value, k) => value * (air?.[k] ?? NaN) * unit.factor);
  return unit.factor === 1 && unit.offset === 0 ? values : values.map((value) => value * unit.factor + unit.offset);
}

const RAISED: Record<string, string> = { "-": "⁻", "0": "⁰", "1": "¹", "2": "²", "3": "³", "4": "⁴", "6": "⁶" };

/** Return a unit with superscripts: "kg m-2" as kg m⁻². */
export function pretty(unit: string): string {
  if (unit === "1") return "";
  return unit.replace(/(?<=[A-Za-zµ°])-?\d+/g, (power) => [...power].map((each) => RAISED[each] ?? each).join(""));
}
