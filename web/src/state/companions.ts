// Weather that goes with the displayed field, at the level and the displayed time of the map: wind, and the air that converts units.
import { computed, effect } from "@preact/signals";
import { Past } from "./past";
import { Refused } from "../protocol/http";
import type { Frame } from "../protocol/frames";
import type { Subscription, Variable } from "../protocol/types";
import { arrived, air, http, info, latest, level, recorded, variables } from "./store";
import { displayedTime, playhead, view } from "./view";
import { referenceSpeed, strongestOf, winds } from "./wind";

const GAS_CONSTANT = 8.31446261815324; // J mol-1 K-1, exact (SI 2019)
const MOST_STORES = 24;

const stores = new Map<string, Past>();
/** Stores whose records have been requested and have arrived. */
const answered = new Set<string>();

const standard = (name: string) => computed(() => variables.value.find((each) => each.standard_name === name) ?? null);
const pressure = standard("air_pressure");
const temperature = standard("air_temperature");
const ofModel = computed(() => variables.value.find((each) => each.name === air.value) ?? null);

/** Whether the amount of air is known: the model provides it, or pressure and temperature. */
export const hasAir = computed(() => ofModel.value !== null || (pressure.value !== null && temperature.value !== null));

const levelOf = (of: Variable): number | null => (of.dims.length > 2 ? Math.min(level.value, (of.shape[0] ?? 1) - 1) : null);
const keyOf = (session: string, of: Variable): string => [session, of.name, levelOf(of)].join("|");

/** Return a variable at the level of the map at a time, null being the present; null until it is there, and where it is not recorded. */
function companion(of: Variable | null, at: number | null): Frame | null {
  void arrived.value;
  if (!of) return null;
  const past = stores.get(keyOf(view.value.session, of));
  if (at !== null) return past?.between(at) ?? null;
  const now = latest.value[`with:${of.name}`];
  return now && now.header.level === levelOf(of) ? now : (past?.last ?? null);
}

/** Return the amount of air [mol m-3]: of the model, or by the ideal gas law from pressure and temperature. `read` returns a variable. */
export function airFrom(read: (of: Variable) => Float32Array | undefined): Float32Array | null {
  const known = ofModel.value && read(ofModel.value);
  if (known) return known;
  const [high, warm] = [pressure.value && read(pressure.value), temperature.value && read(temperature.value)];
  if (!high || high.length !== warm?.length) return null;
  const before = airs.get(high) ?? high.map((each, k) => each / (GAS_CONSTANT * (warm[k] ?? NaN)));
  airs.set(high, before);
  return before;
}

/** The variables from which the present amount of air is derived. */
export const airParts = computed<Variable[]>(() => (ofModel.value ? [ofModel.value] : [pressure.value, temperature.value].filter((each) => each !== null)));

/** Return the amount of air of each cell of the map at a time. */
export const airAt = (at: number | null): Float32Array | null => airFrom((each) => companion(each, at)?.values);

/** Amounts of air by their pressure, so that unchanged parts are not drawn again. */
const airs = new WeakMap<Float32Array, Float32Array>();

export const mapAir = computed(() => airAt(displayedTime.value));

/** The components of the wind at the level of the map and the displayed time. */
export const mapWind = computed<{ east: Float32Array; north: Float32Array } | null>(() => {
  const at = playhead.value ?? displayedTime.value;
  const [east, north] = [companion(winds.value?.east ?? null, at), companion(winds.value?.north ?? null, at)];
  return east && north && east.values.length === north.values.length ? { east: east.values, north: north.values } : null;
});

const strongest = new Map<string, number>();

/** The speed [m/s] of the reference arrow: it only grows at a level, so that arrows are comparable through the day. */
export const windReference = computed<number>(() => {
  const key = [view.value.session, level.value].join("|");
  const most = Math.max(strongest.get(key) ?? 0, mapWind.value ? strongestOf(mapWind.value) : 0);
  strongest.set(key, most);
  return referenceSpeed(most);
});

/** Whether the wind of the displayed time is missing from the records. */
export const windMissing = computed(() => {
  void arrived.value;
  const east = winds.value?.east;
  return view.value.wind !== "none" && displayedTime.value !== null && east !== undefined && answered.has(keyOf(view.value.session, east)) && mapWind.value === null;
});

/** The components of the wind where the view needs them. */
const windParts = (): Variable[] => (view.value.wind !== "none" && winds.value ? [winds.value.east, winds.value.north] : []);

/** Return the subscriptions to the present companions; `byAir`: the unit of the map needs the amount of air. */
export function companionSubscriptions(byAir: boolean): Subscription[] {
  return [...(byAir ? airParts.value : []), ...windParts()].map((each) => {
    const at = levelOf(each);
    return { id: `with:${each.name}`, session: view.value.session, variable: each.name, hz: 5, ...(at !== null && { level: at }) };
  });
}

/** Return the subscriptions to the air of a column, from which `airFrom` derives its amount. */
export function columnAir(of: Subscription, byAir: boolean): Subscription[] {
  return byAir ? airParts.value.map((each) => ({ ...of, id: `air:${each.name}:${of.id}`, variable: each.name })) : [];
}

/** Request the records of the companions that the view needs, also after each further record. */
export function followCompanions(byAir: () => boolean): void {
  const requested = new Map<string, number>();
  effect(() => {
    if (!info.value) return;
    const { session } = view.value;
    const count = recorded.value[session] ?? 0;
    const ofAir = byAir() ? [ofModel.value, pressure.value, temperature.value].filter((each) => each !== null) : [];
    for (const each of [...ofAir, ...windParts()]) {
      const key = keyOf(session, each);
      if (requested.get(key) === count) continue;
      requested.set(key, count);
      void request(session, each, key).catch(() => requested.delete(key));
    }
  });
}

async function request(session: string, of: Variable, key: string): Promise<void> {
  const since = stores.get(key)?.last?.header.seconds;
  const query = [levelOf(of) === null ? "" : `level=${levelOf(of)}`, since === undefined ? "" : `since=${since}`].filter(Boolean).join("&");
  try {
    const found = await http.frames(`/sessions/${session}/recording/${of.name}?${query}`);
    if (!stores.has(key) && stores.size >= MOST_STORES) stores.delete([...stores.keys()][0] ?? "");
    const past = stores.get(key) ?? new Past();
    past.merge(found);
    stores.set(key, past);
  } catch (error) {
    if (!(error instanceof Refused)) throw error; // a refusal: the session records no such field
  }
  answered.add(key);
  arrived.value += 1;
}
