// Budgets in words: the terms of a balance in tonnes, with explanations.
import { number } from "../maths/format";
import { pretty } from "../maths/units";
import type { SummaryTable, Variable } from "../protocol/types";

export interface Term {
  name: string;
  explanation: string;
  /** Positive where it adds to the amount. */
  value: number;
}

export interface Balance {
  title: string;
  unit: string;
  terms: Term[];
  /** The change of the amount, which the terms add up to. */
  change: number;
  /** How well they do; empty where the model does not report it. */
  check: string;
}

interface Words {
  name: string;
  sign: 1 | -1;
  explanation: string;
  /** Explanation of a negative value, where it differs. */
  negative?: string;
}

const SPECIES = "Budgets of species [mol]";
const CHANGE = ["change", "change in store"];
const CHECK = "residual";

const AIR: Record<string, Words> = {
  inflow: { name: "In", sign: 1, explanation: "The wind carried it in through the edges of the map." },
  outflow: { name: "Out", sign: -1, explanation: "The wind carried it out through the edges of the map." },
  emitted: { name: "Emitted", sign: 1, explanation: "Traffic, industry, farms, plants and other sources released it." },
  deposited: { name: "Deposited", sign: -1, explanation: "Ground, plants and rain took it out of the air." },
  chemistry: { name: "Chemistry", sign: 1, explanation: "Reactions in the air made more than they used up.", negative: "Reactions in the air used up more than they made." },
  clipped: { name: "Rounding", sign: 1, explanation: "Negative amounts were set to zero, which adds a little." },
};

const LAND: Record<string, Omit<Words, "sign">> = {
  rain: { name: "Rain", explanation: "It fell on the land." },
  runoff: { name: "Runoff", explanation: "It flowed off over the ground." },
  "soil evaporation": { name: "Evaporation", explanation: "The bare soil dried." },
  transpiration: { name: "Grass", explanation: "The grass drew it from the soil." },
  "tree water use": { name: "Trees", explanation: "Trees drew it from the soil." },
  drainage: { name: "Drainage", explanation: "It seeped below the deepest layer." },
  growth: { name: "Growth", explanation: "The grass grew." },
  detachment: { name: "Litter", explanation: "Dead grass fell to the ground." },
  eaten: { name: "Eaten", explanation: "Cattle ate it." },
  trampled: { name: "Trampled", explanation: "Cattle trod it down." },
  burnt: { name: "Burnt", explanation: "Fire burnt it." },
};

/** Return the names of all fields that have a budget. */
export function budgeted(tables: readonly SummaryTable[]): string[] {
  return tables.find((each) => each.title === SPECIES)?.rows.map((row) => String(row[0])) ?? [];
}

/** Return the balance of a species: in kilograms, tonnes or kilotonnes as fits, or in moles; null without one. */
export function speciesBalance(tables: readonly SummaryTable[], of: Variable, inMoles: boolean): Balance | null {
  const table = tables.find((each) => each.title === SPECIES);
  const row = table?.rows.find((each) => each[0] === of.name);
  if (!table || !row) return null;
  const value = (column: string) => Number(row[table.columns.indexOf(column)] ?? NaN);
  const molar = inMoles ? null : of.molar_mass;
  const moles = Object.keys(AIR).filter((each) => table.columns.includes(each)).map((each) => ({ words: AIR[each]!, value: AIR[each]!.sign * value(each) }));
  const change = value("change");
  const largest = Math.max(...[...moles.map((each) => each.value), change].map(Math.abs));
  const [unit, factor] = molar ? massUnit(largest * molar) : moleUnit(largest);
  const scale = (amount: number) => amount * (molar ?? 1) * factor;
  const terms = moles.filter((each) => each.words.name !== "Rounding" || each.value !== 0)
    .map(({ words, value: amount }) => ({ name: words.name, explanation: (amount < 0 && words.negative) || words.explanation, value: scale(amount) }));
  return { title: of.title || of.name, unit, terms, change: scale(change), check: checkText(value(CHECK), largest) };
}

/** Return the balances of land: tables with a term and its amount in each row. */
export function landBalances(tables: readonly SummaryTable[]): Balance[] {
  return tables.filter((each) => each.columns[0] === "term" && each.columns.length === 2).map((table) => {
    const rows = table.rows.map((row) => [String(row[0]), Number(row[1])] as const);
    const terms = rows.filter(([name]) => !CHANGE.includes(name)).map(([name, value]) => ({ name, explanation: "", ...LAND[name], value }));
    const change = rows.find(([name]) => CHANGE.includes(name))?.[1] ?? NaN;
    const title = table.title.replace(/ \[.*\]$/, "");
    return { title, unit: pretty(table.columns[1] ?? ""), terms, change, check: checkText(Number(/: ([-+.\de]+)$/.exec(table.note)?.[1] ?? NaN), 1) };
  });
}

/** Return a unit of mass in which a number of kilograms has few digits, and its factor. */
export function massUnit(kilograms: number): [unit: string, factor: number] {
  const steps: [least: number, unit: string][] = [[1e9, "Mt"], [1e6, "kt"], [1e3, "t"]];
  const found = steps.find(([least]) => kilograms >= 10 * least) ?? (kilograms >= 1e3 ? ([1e3, "t"] as const) : null);
  return found ? [found[1], 1 / found[0]] : ["kg", 1];
}

function moleUnit(moles: number): [unit: string, factor: number] {
  return moles >= 1e7 ? ["million mol", 1e-6] : moles >= 1e4 ? ["thousand mol", 1e-3] : ["mol", 1];
}

function checkText(residual: number, largest: number): string {
  if (!Number.isFinite(residual)) return "";
  const relative = largest > 0 ? Math.abs(residual) / largest : 0;
  if (relative < 1e-9) return "Check: the terms add up to the change, to better than a billionth.";
  return `Check: the terms add up to the change, to ${number(100 * relative, 2)} %.`;
}
