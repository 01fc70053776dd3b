// Stations: observations next to the model, at the displayed hour, as series, and their scores so far.
import { computed, effect, signal } from "@preact/signals";
import { unitOf, type Place } from "../maths/grid";
import { convert } from "../maths/units";
import { Refused } from "../protocol/http";
import type { StationInfo, StationList, StationPairs, StationScores, StationSeries } from "../protocol/types";
import { comparing, unit } from "./scale";
import { http, info, recorded, shown, variable } from "./store";
import { displayedTime, look, view } from "./view";

/** Means over more than this [s] are not shown as the value of an hour. */
const LONGEST = 3 * 3600;

const lists = signal<Record<string, StationList>>({});
const received = signal<{ key: string; pairs: StationPairs } | null>(null);
export const scores = signal<StationScores | null>(null);
/** The station under the pointer. */
export const hovered = signal<string | null>(null);

export const stationList = computed<StationList | null>(() => lists.value[view.value.session] ?? null);
export const stations = computed<readonly StationInfo[]>(() => stationList.value?.stations ?? []);
/** The displayed field as an observed species; null where no station observes it. */
export const pollutant = computed(() => stationList.value?.pollutants.find((each) => each.name === variable.value?.name) ?? null);

const keyOf = (session: string, name: string): string => `${session}|${name}`;

export const pairs = computed<StationPairs | null>(() => {
  const found = received.value;
  return found && variable.value && found.key === keyOf(view.value.session, variable.value.name) ? found.pairs : null;
});

/** The unit of observed values: that of the map, or that of the observations where the map's needs the air of each cell. */
export const shownUnit = computed<string>(() => {
  if (!unit.value || unit.value.byAir) return pretty(pollutant.value?.unit ?? "");
  return unit.value.label;
});

const pretty = (text: string): string => text.replace("ug", "µg").replace("m3", "m³");

/** Return a value in the unit of the observations in the shown unit: observed and modelled values alike. */
export function inShownUnit(value: number | null): number {
  if (value === null || !pollutant.value) return NaN;
  if (!unit.value || unit.value.byAir) return value;
  return convert(Float32Array.of(value / pollutant.value.factor), unit.value, null)[0] ?? NaN;
}

export interface Reading {
  station: StationInfo;
  /** Position on the map. */
  at: Place;
  observed: number;
  modelled: number;
}

/** Return the number of the hourly value of a series at a time [s]; -1 without one. */
export const hourAt = (of: StationSeries, seconds: number): number =>
  of.begin.findIndex((begin, k) => begin < seconds && seconds <= of.end[k]! && of.end[k]! - begin <= LONGEST);

/** Stations that observe the displayed field, with their values at the displayed hour; NaN without one. */
export const atHour = computed<Reading[]>(() => {
  const grid = info.value?.grid;
  const name = variable.value?.name;
  if (!grid || !name || comparing.value) return [];
  const seconds = displayedTime.value ?? shown(view.value.session)?.header.seconds ?? NaN;
  const size = unitOf(grid);
  return stations.value.filter((each) => each.pollutants.includes(name)).map((station) => {
    const series = pairs.value?.series.find((each) => each.station === station.id);
    const k = series ? hourAt(series, seconds) : -1;
    return {
      station, at: [station.x * size, station.y * size] as const,
      observed: k < 0 ? NaN : inShownUnit(series!.observed[k]!), modelled: k < 0 ? NaN : inShownUnit(series!.modelled[k] ?? null),
    };
  });
});

/** Fewest stations and days with common hours from which the agreement is put into words. */
const FEWEST = { stations: 5, days: 10 };

/** Return why stations allow no verdict: "1 station, 1 day: no verdict"; empty where they do. `until` is the last time [s] that counts. */
export function noVerdict(series: readonly StationSeries[], until: number): string {
  const days = new Set<number>();
  const seen = series.filter((each) => {
    const common = each.begin.filter((_, k) => each.end[k]! <= until && each.observed[k] != null && each.modelled[k] != null);
    common.forEach((begin) => days.add(Math.floor(begin / DAY)));
    return common.length > 0;
  });
  if (seen.length >= FEWEST.stations && days.size >= FEWEST.days) return "";
  return `${counted(seen.length, "station")}, ${counted(days.size, "day")}: no verdict`;
}

const DAY = 86400;
const counted = (count: number, name: string): string => `${count} ${name}${count === 1 ? "" : "s"}`;

/** Choose a station, whose series the panel shows. */
export function chooseStation(id: string | null): void {
  look({ station: id, ...(id !== null && { panel: "stations" as const }) });
}

/** Time between requests while a run goes on [ms]. */
const PAUSE = 1500;

/** Request the stations of each displayed session, the series of the displayed field, and the scores for the open panel. */
export function followStations(): void {
  effect(() => {
    const { session } = view.value;
    if (info.value && !(session in lists.peek())) void requestList(session);
  });
  const series = computed(() => (pollutant.value ? `${keyOf(view.value.session, pollutant.value.name)}|${recorded.value[view.value.session] ?? 0}` : null));
  effect(later(series, async () => {
    const [session, name] = [view.peek().session, pollutant.peek()?.name];
    if (name) received.value = { key: keyOf(session, name), pairs: await http.get<StationPairs>(`/sessions/${session}/stations/pairs?variable=${name}`) };
  }));
  const scored = computed(() => (series.value && view.value.panel === "stations" ? `${series.value}|${displayedTime.value ?? ""}` : null));
  effect(later(scored, async () => {
    const [session, name, until] = [view.peek().session, pollutant.peek()?.name, displayedTime.peek()];
    if (name) scores.value = await http.get<StationScores>(`/sessions/${session}/stations/scores?variable=${name}${until === null ? "" : `&until=${until}`}`);
  }));
}

async function requestList(session: string): Promise<void> {
  lists.value = { ...lists.value, [session]: { stations: [], pollutants: [], files: [], problem: null } };
  try {
    lists.value = { ...lists.value, [session]: await http.get<StationList>(`/sessions/${session}/stations`) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error; // a refusal: an older server, or a site without stations
  }
}

/** Return an effect that runs a request at once when its key changes, and at most every `PAUSE` after that. */
function later(key: { readonly value: string | null }, request: () => Promise<void>): () => void {
  let [busy, waiting] = [false, false];
  const run = async () => {
    if (busy) {
      waiting = true;
      return;
    }
    busy = true;
    await request().catch(() => undefined); // the session or the server has ended, which events report
    await new Promise((resolve) => setTimeout(resolve, waiting ? PAUSE : 0));
    busy = false;
    if (waiting) {
      waiting = false;
      void run();
    }
  };
  return () => {
    if (key.value !== null) void run();
  };
}
