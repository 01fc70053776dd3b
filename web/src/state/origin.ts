// "Where from?": the computation of sources on the server, its result, the map of sources, and runs that test it.
import { computed, effect, signal } from "@preact/signals";
import { errorText } from "../maths/format";
import type { Place } from "../maths/grid";
import { around } from "../maths/range";
import { bulk } from "../maths/sources";
import type { OriginState } from "../protocol/types";
import { requested } from "./actions";
import { overlay } from "./overlay";
import { formulaOf } from "./fields";
import { positionName } from "./place_names";
import { playing } from "./playback";
import { unit } from "./scale";
import { geography, http, info, past, placeOf, recorded, session, variable, variables } from "./store";
import { displayedTime, view } from "./view";

const NONE: OriginState = {
  status: "none", refusal: "", request: null, part: "", done: 0, elapsed: 0, expected: null, memory: null, message: "", result: null,
};
const AGAIN = 700; // milliseconds between two requests for the progress

/** State of the computation of the displayed session. */
export const origin = signal<OriginState>(NONE);
/** The pollutant of the map of sources; empty for all emission. */
export const pollutant = signal("");
/** Whether the map shows sources instead of the field. */
export const mapShown = signal(true);
/** The species in question; null for the displayed one. */
export const asked = signal<string | null>(null);
/** Number of a marked place, or the name of a city. */
export const receptor = signal<string>("");

export const species = computed<string>(() => {
  const all = info.value?.species ?? [];
  const wanted = asked.value ?? variable.value?.name ?? "";
  return all.includes(wanted) ? wanted : (all.find((each) => each === "O3") ?? all[0] ?? "");
});

/** Time of the concentration [s]: the recorded hour that is displayed. */
export const moment = computed<number>(() => {
  void recorded.value;
  const seconds = displayedTime.value;
  if (seconds === null) return session.value?.seconds ?? 0;
  return past(view.value.session).at(seconds)?.header.seconds ?? seconds;
});

export const momentIso = computed<string>(() => {
  const begin = Date.parse(info.value?.start ?? "");
  return Number.isFinite(begin) ? new Date(begin + moment.value * 1000).toISOString() : "";
});

export interface Where {
  id: string;
  name: string;
  /** Longitude and latitude. */
  at: Place;
}

/** Marked places, the last one first, and cities. */
export const choices = computed<Where[]>(() => {
  const marked = view.value.places.flatMap((place, k): Where[] => {
    const at = placeOf(place);
    return at ? [{ id: `place ${k + 1}`, name: positionName(place) || `Place ${k + 1}`, at }] : [];
  });
  const cities = (geography.value?.cities ?? []).map((each): Where => ({ id: each.name, name: each.name, at: [each.lon, each.lat] }));
  return [...marked.reverse(), ...cities];
});

export const where = computed<Where | null>(() => choices.value.find((each) => each.id === receptor.value) ?? choices.value[0] ?? null);

const path = (of: string): string => `/sessions/${of}/origin`;

export async function start(): Promise<void> {
  const at = where.value;
  if (!at) return;
  const name = view.value.session;
  const request = { species: species.value, place: [at.at[0], at.at[1]], name: at.name, at: moment.value, level: 0 };
  const found = await requested(() => http.send<OriginState>("POST", path(name), request));
  if (found) accept(name, found);
}

export async function cancel(): Promise<void> {
  await requested(() => http.send("DELETE", path(view.value.session)));
  await refresh();
}

/** Request the state of the computation, and the expected time for the displayed hour. */
export async function refresh(): Promise<void> {
  const name = view.value.session;
  try {
    accept(name, await http.get<OriginState>(`${path(name)}?at=${moment.value}`));
  } catch (error) {
    origin.value = { ...NONE, refusal: errorText(error) };
  }
}

let timer: ReturnType<typeof setTimeout> | undefined;

function accept(name: string, found: OriginState): void {
  if (name !== view.value.session) return;
  const before = origin.value;
  origin.value = { ...found, expected: found.expected ?? before.expected, memory: found.memory ?? before.memory };
  clearTimeout(timer);
  if (found.status === "running") timer = setTimeout(() => void refresh(), AGAIN);
}

function formula(name: string): string {
  const known = variables.value.find((each) => each.name === name);
  return known ? formulaOf(known) : name;
}

/** Factor and label of the unit of concentrations: that of the scale where it is one by mass, otherwise ppb or ppt. */
export function amountUnit(largest: number): { factor: number; label: string } {
  const { air = null, request = null } = origin.value.result ?? {};
  const of = request?.species === variable.value?.name ? unit.value : null;
  if (of && !of.byAir && of.label.startsWith("µg")) return { factor: of.factor, label: of.label };
  if (of?.byAir && air) return { factor: of.factor * air, label: of.label };
  return Math.abs(largest) < 2e-11 ? { factor: 1e12, label: "ppt" } : { factor: 1e9, label: "ppb" };
}

/** Draw the map of sources while its panel is open, and follow the session and the displayed hour. */
export function followOrigin(): void {
  const isOpen = computed(() => view.value.panel === "origin");
  const about = computed(() => (isOpen.value && info.value && !playing.value ? `${view.value.session} ${moment.value}` : null));
  let session = "";
  effect(() => {
    if (about.value === null) return;
    if (session !== view.value.session) origin.value = NONE;
    session = view.value.session;
    void refresh();
  });
  const wanted = computed(() => {
    const result = origin.value.result;
    return isOpen.value && mapShown.value && result ? { result, pollutant: pollutant.value, session: view.value.session } : null;
  });
  effect(() => {
    const now = wanted.value;
    if (!now) {
      overlay.value = null;
      return;
    }
    void draw(now).catch(() => (overlay.value = null));
  });
}

async function draw(of: { result: NonNullable<OriginState["result"]>; pollutant: string; session: string }): Promise<void> {
  const [frame] = await http.frames(`${path(of.session)}/map?pollutant=${encodeURIComponent(of.pollutant)}`);
  if (!frame || origin.value.result?.time !== of.result.time || pollutant.value !== of.pollutant) return;
  const most = bulk(frame.values);
  const { factor, label } = amountUnit(most);
  const range = around(most * factor || 1);
  overlay.value = {
    session: of.session, frame, values: frame.values.map((each) => each * factor), range, unit: `${label} per cell`,
    title: `Sources of ${formula(of.result.request.species)} in ${of.result.place}`, ends: ["lowers it", "raises it"], at: [of.result.lon, of.result.lat],
  };
}
