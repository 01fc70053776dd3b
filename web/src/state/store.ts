// State of the page: signals that components read and the link writes.
import { computed, effect, signal } from "@preact/signals";
import { cellAt, gridOf, lonLatOf, unitOf, type Grid, type Place, type Places } from "../maths/grid";
import { access } from "../protocol/access";
import type { Frame } from "../protocol/frames";
import { Http, Refused, type Source } from "../protocol/http";
import { Link, type Connection } from "../protocol/link";
import type { City, Control, GraticuleLine, GridInfo, LogEntry, ModelInfo, ServerEvent, SessionState, Summary, Variable } from "../protocol/types";
import { isSite, Site } from "../protocol/recorded_site";
import { recentField } from "./favourites";
import { endOf, lineage, lineageOf, nearest } from "./ended";
import { nameIn } from "./run_names";
import { Past } from "./past";
import { changed, heard, ownName } from "./people";
import { displayedTime, look, view } from "./view";

export interface Notice {
  id: number;
  kind: "problem" | "done";
  text: string;
}

/** Lines continue beyond the map; positions are those of the map. */
export interface Geography {
  /** Closed outlines. */
  land: Float32Array;
  coast: Float32Array;
  borders: Float32Array;
  /** Meridians and parallels of a projected map. */
  graticule: GraticuleLine[];
  /** Cities of the map, and of its surroundings. */
  cities: City[];
  around: City[];
  /** Of the cells of a projected map. */
  places: Places | null;
}

export const identity = access();
export const http: Source = isSite() ? new Site() : new Http(identity);
export const connection = signal<Connection>("connecting");
export const retryAt = signal<number | null>(null);
export const sessions = signal<Record<string, SessionState>>({});
export const infos = signal<Record<string, ModelInfo>>({});
export const logs = signal<Record<string, LogEntry[]>>({});
/** Control of each session, as seen by this page. */
export const controls = signal<Record<string, Control>>({});
export const notices = signal<Notice[]>([]);
/** Coasts, borders and cities of each session's map; null where it has none. */
const geographies = signal<Record<string, Geography | null>>({});
export const cursor = signal<Place | null>(null);
/** Counter of received frames, because the stored frames are no signals. */
export const arrived = signal(0);
/** Frames of places and of the line at the displayed past time, by the id of their subscription. */
export const earlier = signal<Record<string, Frame>>({});
/** Number of times of each session that were recorded while the page was open. */
export const recorded = signal<Record<string, number>>({});
/** The newest frame of every other subscription, by its id. */
export const latest = signal<Record<string, Frame>>({});

/** The stages of sessions that are being set up, in words. */
export const openings = signal<Record<string, string>>({});

/** Whether the sessions of the server are known, so that a missing one has ended. */
const complete = signal(false);

const pasts = new Map<string, Past>();

export const session = computed<SessionState | null>(() => sessions.value[view.value.session] ?? null);
export const info = computed<ModelInfo | null>(() => infos.value[view.value.session] ?? null);
export const geography = computed<Geography | null>(() => geographies.value[view.value.session] ?? null);
export const grid = computed<Grid | null>(() => (info.value ? gridOf(info.value.grid) : null));
export const variables = computed<Variable[]>(() => info.value?.variables.filter(hasMap) ?? []);
export const variable = computed<Variable | null>(
  () => variables.value.find((each) => each.name === view.value.variable) ?? null,
);
export const level = computed<number>(() => {
  const levels = variable.value && variable.value.dims.length > 2 ? (variable.value.shape[0] ?? 1) : 1;
  return Math.min(view.value.level, levels - 1);
});
/** The summary of a session, while a panel shows it. */
export const summary = signal<Summary | null>(null);
/** The variable with the amount of air, which converts mixing ratios to masses. */
export const air = computed<string | null>(() => variables.value.find((each) => each.name === info.value?.air)?.name ?? null);

/** Species that can be released in kilograms. */
export const releasable = computed<string[]>(() => variables.value.filter((each) => each.molar_mass !== null).map((each) => each.name));

export function hasMap(each: Variable): boolean {
  const last = each.dims.slice(-2).join();
  return last === "lat,lon" || last === "y,x";
}

/** Return longitude and latitude of a position on the map; null before those of its cells arrive. */
export function placeOf(at: Place): Place | null {
  return grid.value ? lonLatOf(grid.value, geography.value?.places ?? null, at) : at;
}

export function past(of: string): Past {
  let found = pasts.get(of);
  if (!found) pasts.set(of, (found = new Past()));
  return found;
}

/**
 * Return the displayed frame of a session: the present one, or the one of the selected past time. A recording next to a
 * live run shows the present hour of that run.
 */
export function shown(of: string): Frame | null {
  void arrived.value;
  const { session: name } = view.value;
  const present = of !== name && sessions.value[of]?.recorded ? (sessions.value[name]?.seconds ?? null) : null;
  const at = displayedTime.value ?? present;
  return at === null ? past(of).last : past(of).between(at);
}

let noticed = 0;

export function notify(kind: Notice["kind"], text: string): void {
  const id = ++noticed;
  notices.value = [...notices.value.filter((each) => each.text !== text).slice(-2), { id, kind, text }];
  setTimeout(() => dismiss(id), kind === "problem" ? 9000 : 4000);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((each) => each.id !== id);
}

export const link = new Link(identity, {
  connection(now, retry) {
    connection.value = now;
    retryAt.value = retry;
    if (now === "open") void forgetEnded();
  },
  frame(frame) {
    const id = frame.header.subscription ?? "";
    if (id.startsWith("map:")) past(id.slice(4)).add(frame);
    else latest.value = { ...latest.value, [id]: frame };
    arrived.value += 1;
  },
  problem: (message) => notify("problem", message),
  event,
});

/** Remove sessions that ended without an event while there was no connection. */
async function forgetEnded(): Promise<void> {
  const known = new Set(Object.keys(sessions.value));
  try {
    for (const each of await http.get<SessionState[]>("/sessions")) known.delete(each.session);
    sessions.value = Object.fromEntries(Object.entries(sessions.value).filter(([name]) => !known.has(name)));
    complete.value = true;
  } catch {
    // the connection is lost again
  }
}

function event(message: ServerEvent): void {
  const name = message.session;
  if (heard(message)) identity.author = ownName.value;
  if (message.event === "problem" && message.problem) notify("problem", message.problem.message);
  if (!name) return;
  if (message.event === "closed") {
    const { [name]: _gone, ...others } = sessions.value;
    sessions.value = others;
    pasts.delete(name);
    return;
  }
  if (message.event === "record") {
    recorded.value = { ...recorded.value, [name]: (recorded.value[name] ?? 0) + 1 };
    return;
  }
  if (message.event === "opening") {
    const { [name]: _ended, ...others } = openings.value;
    openings.value = message.stage ? { ...others, [name]: message.stage } : others;
    return;
  }
  if (message.event === "budget") {
    summary.value = message.summary ?? null;
    return;
  }
  if (message.state) sessions.value = { ...sessions.value, [name]: message.state };
  if (message.event === "log" && message.entry) {
    logs.value = { ...logs.value, [name]: [...(logs.value[name] ?? []), message.entry] };
    changed(message.entry.author, identity);
  }
  if (message.event === "opened" || (message.event === "hello" && !learning.has(name))) void learn(name);
  if (message.event !== "state") void learnControl(name);
}

/** Request the state of control of a session, including whether this page has it. */
export async function learnControl(name: string): Promise<void> {
  try {
    controls.value = { ...controls.value, [name]: await http.get<Control>(`/sessions/${name}/control`) };
  } catch {
    // the session or the server has ended, which events report
  }
}

const learning = new Set<string>();

/** Request the description of a session's model. */
export async function learn(name: string): Promise<void> {
  learning.add(name);
  try {
    const found = await http.get<ModelInfo>(`/sessions/${name}/info`);
    infos.value = { ...infos.value, [name]: found };
    sessions.value = { ...sessions.value, [name]: { ...found.state, ...sessions.value[name] } };
    if (!past(name).last) await firstFrame(name);
    if (!geographies.value[name]) {
      const same = geographies.value[found.state.parent ?? ""] ?? (await world(name, found.grid)); // a branch has its parent's map
      geographies.value = { ...geographies.value, [name]: same };
    }
    logs.value = { ...logs.value, [name]: await http.get<LogEntry[]>(`/sessions/${name}/log`) };
  } catch (error) {
    if (error instanceof Refused && connection.value === "open") notify("problem", error.message);
  } finally {
    learning.delete(name);
  }
}

/** Request the displayed field by HTTP, which is faster than the first frame of the WebSocket. */
async function firstFrame(name: string): Promise<void> {
  const selected = variable.value;
  if (!selected || name !== view.value.session) return;
  const at = openingTime(name);
  if (at !== null && view.value.at === null) look({ at });
  const query = [at !== null && `at=${at}`, selected.dims.length > 2 && `level=${level.value}`].filter(Boolean).join("&");
  const path = `/sessions/${name}/${at === null ? "data" : "recording"}/${selected.name}`;
  const [frame] = await http.frames(query ? `${path}?${query}` : path);
  if (!frame || (at === null && past(name).last)) return;
  past(name).merge([frame]);
  arrived.value += 1;
}

/** Return the time [s] at which a recorded session opens: that of the address, otherwise its striking hour. */
function openingTime(name: string): number | null {
  return sessions.value[name]?.recorded ? (view.value.at ?? infos.value[name]?.striking ?? null) : null;
}

async function world(name: string, of: GridInfo): Promise<Geography | null> {
  const values = async (kind: string) =>
    (await http.frames(`/sessions/${name}/geography/${kind}`))[0]?.values ?? new Float32Array();
  const unit = unitOf(of);
  const lines = async (kind: string) => (await values(kind)).map((each) => each * unit);
  try {
    const [land, coast, borders, allCities, places, graticule] = await Promise.all([
      lines("land"), lines("coast"), lines("borders"), http.get<City[]>(`/sessions/${name}/geography/cities`),
      of.kind === "projected" ? values("places") : null,
      of.kind === "projected" ? http.get<GraticuleLine[]>(`/sessions/${name}/geography/graticule`) : [],
    ]);
    const map = gridOf(of);
    const cities = allCities.map((each) => ({ ...each, x: each.x * unit, y: each.y * unit }));
    const isInside = ({ x, y }: City) => map !== null && cellAt(map, [x, y]) !== null;
    const planes = [0, 1, 2].map((k) => places?.subarray(k * of.rows * of.columns, (k + 1) * of.rows * of.columns));
    const [lon, lat, angle] = planes;
    return {
      land, coast, borders, cities: cities.filter(isInside), around: cities.filter((each) => !isInside(each)),
      graticule: graticule.map((each) => ({ ...each, points: each.points.map(([x, y]) => [x * unit, y * unit]) })),
      places: lon && lat && angle ? { lon, lat, angle } : null,
    };
  } catch {
    return null; // a model without a map, or a server without coasts
  }
}

/** Return the session to open: the live run after its spin-up, otherwise recorded hours, otherwise the first one. */
export function bestOf(all: SessionState[]): string | null {
  const found = all.find((each) => !each.recorded && each.seconds >= 0) ?? all.find((each) => each.recorded) ?? all[0];
  return found?.session ?? null;
}

/** Connect, and request the session of the view, if a session was chosen there; replace a missing session or variable. */
export function begin(chosen: boolean): void {
  if (isSite()) connection.value = "open";
  else link.open();
  void first(chosen).catch(() => undefined); // the link repeats the connection
  effect(() => {
    const [all, { session: name, other }] = [sessions.value, view.value];
    if (all[name]) lineage.value = lineageOf(name, all);
    else if (complete.value && Object.keys(all).length) fallBack();
    if (all[name] && other && !all[other]) look({ other: null });
  });
  effect(() => {
    if (variables.value.length && !variable.value) look({ variable: firstOf(variables.value) });
  });
}

/** Show the nearest run that is left, with a sentence where the displayed one has ended; all else of the view stays. */
function fallBack(): void {
  const all = sessions.peek();
  const left = nearest(lineage.peek(), all);
  const best = left?.session ?? bestOf(Object.values(all)) ?? "main";
  const ended = lineage.peek()[0];
  const text = left?.said ?? (ended && all[best] ? endOf(ended, nameIn(all, best), false) : "");
  look({ session: best, other: null });
  if (text) notify("done", text);
}

async function first(chosen: boolean): Promise<void> {
  const there = await http.get<SessionState[]>("/sessions");
  const all = Object.fromEntries(there.map((each) => [each.session, each]));
  sessions.value = { ...all, ...sessions.value };
  complete.value = true; // after all sessions are there: otherwise the page would leave the one of its address
  if (!there.length) return; // the model is being set up
  if (!chosen) look({ session: bestOf(there) ?? "main" });
  else if (lineage.value.length && nearest(lineage.value, all)?.session !== view.value.session) fallBack();
  const name = view.value.session;
  if (!learning.has(name)) await learn(name);
}

function firstOf(all: Variable[]): string {
  const before = recentField(info.value?.state.model ?? "");
  const found = [before, ...(info.value?.shown ?? [])].find((name) => all.some((each) => each.name === name));
  return found ?? all[0]?.name ?? "";
}
