// The view as a versioned document. It is part of the address, so that a link shows the same view.
import { computed, signal } from "@preact/signals";
import type { Place } from "../maths/grid";

export const VERSION = 1;

export type Wind = "none" | "arrows" | "particles";
export const COMPARES = ["beside", "swipe", "difference"] as const;
/** Two runs side by side, on both sides of a line in one map, or their difference. */
export type Compare = (typeof COMPARES)[number];
export const PANELS = ["fields", "place", "scenario", "origin", "stations", "budget", "settings", "about"] as const;
export type Panel = (typeof PANELS)[number];
export type Theme = "auto" | "light" | "dark";

export interface View {
  version: number;
  session: string;
  /** The displayed past time [s]; null for the present. */
  at: number | null;
  variable: string;
  level: number;
  unit: string | null;
  colours: string | null;
  /** Whether the scale is logarithmic; null for the default of the field. */
  log: boolean | null;
  /** Numbers in the unit of the scale, or "map" for a range that follows the map; null for the default range of the field. */
  range: [low: number, high: number] | "map" | null;
  /** The displayed range of a difference in a shared link: the field, runs and unit that it is of, and its size. */
  span: { of: string; size: number } | null;
  smooth: boolean;
  contours: boolean;
  lines: boolean;
  cities: boolean;
  wind: Wind;
  /** Part of the globe: lon and lat of the centre, pixels per degree; null for the whole map. */
  camera: [lon: number, lat: number, scale: number] | null;
  places: Place[];
  /** Ends of the line of the cross-section. */
  line: [Place, Place] | null;
  /** The station whose series is shown. */
  station: string | null;
  other: string | null;
  compare: Compare;
  /** Position of the swipe line, from 0 at the left to 1. */
  swipe: number;
  speed: number | null;
  panel: Panel;
  theme: Theme;
}

const DEFAULT: View = {
  version: VERSION, session: "main", at: null, variable: "", level: 0, unit: null, colours: null, log: null, range: null, span: null, smooth: false,
  contours: false, lines: true, cities: true, wind: "none", camera: null, places: [], line: null, station: null, other: null,
  compare: "beside", swipe: 0.5, speed: null, panel: "fields", theme: "auto",
};

export const view = signal<View>(DEFAULT);

export function look(change: Partial<View>): void {
  view.value = { ...view.value, ...change };
}

/** The time [s] that moves while the recorded hours play or are dragged; null otherwise. It is no part of the address. */
export const movingTime = signal<number | null>(null);

/** The time [s] of the picture while the recorded hours play, at each frame of the screen; other parts follow `movingTime`. */
export const playhead = signal<number | null>(null);

/** The displayed past time [s]; null for the present. Frames outside the recorded hours are those of the nearest hour. */
export const displayedTime = computed<number | null>(() => movingTime.value ?? view.value.at);

/** Move to a time [s] that a click or a stop will select. */
export function moveTo(seconds: number): void {
  movingTime.value = playhead.value = seconds;
}

/** Display a past time [s], or the present with null. */
export function showTime(seconds: number | null): void {
  movingTime.value = playhead.value = null;
  if (view.value.at !== seconds) look({ at: seconds });
}

/** Return a view as text for an address: only values that differ from the defaults. */
export function written(of: View): string {
  const changed = Object.entries(of).filter(([key, value]) => key === "session" || differs(value, DEFAULT[key as keyof View]));
  return `#view=${encodeURIComponent(JSON.stringify({ version: VERSION, ...Object.fromEntries(changed) }))}`;
}

/** Return the view of an address, or null without one or for another version. */
export function read(hash: string): View | null {
  const text = /[#&]view=([^&]+)/.exec(hash)?.[1];
  if (!text) return null;
  try {
    const found = JSON.parse(decodeURIComponent(text)) as Partial<View>;
    return found.version === VERSION ? { ...DEFAULT, ...sound(found) } : null;
  } catch {
    return null;
  }
}

type Check = (value: unknown) => boolean;
const text: Check = (value) => typeof value === "string" && value.length <= 200;
const flag: Check = (value) => typeof value === "boolean";
const number: Check = (value) => typeof value === "number" && Number.isFinite(value);
const numbers = (count: number): Check => (value) => Array.isArray(value) && value.length === count && value.every(number);
const among = (...words: string[]): Check => (value) => words.includes(value as string);
const orNull = (check: Check): Check => (value) => value === null || check(value);
const span: Check = (value) => {
  const { of, size } = (value ?? {}) as Record<string, unknown>;
  return text(of) && number(size) && (size as number) > 0;
};
const place: Check = numbers(2);
const places = (least: number, most: number): Check => (value) =>
  Array.isArray(value) && value.length >= least && value.length <= most && value.every(place);

/** Valid values of each part of a view. */
const FORM: Record<keyof View, Check> = {
  version: number, session: text, at: orNull(number), variable: text, level: number, unit: orNull(text), colours: orNull(text), log: orNull(flag),
  range: (value) => value === "map" || orNull(numbers(2))(value), span: orNull(span), smooth: flag, contours: flag, lines: flag, cities: flag, wind: among("none", "arrows", "particles"),
  camera: orNull(numbers(3)), places: places(0, 100), line: orNull(places(2, 2)), station: orNull(text), other: orNull(text),
  compare: among(...COMPARES), swipe: (value) => number(value) && (value as number) >= 0 && (value as number) <= 1, speed: orNull(number),
  panel: among(...PANELS), theme: among("auto", "light", "dark"),
};

/** Return the parts of an external document that have the form of a view. */
function sound(found: Partial<View>): Partial<View> {
  const kept = Object.entries(found).filter(([key, value]) => Object.hasOwn(FORM, key) && FORM[key as keyof View](value));
  return Object.fromEntries(kept);
}

const differs = (a: unknown, b: unknown): boolean => JSON.stringify(a) !== JSON.stringify(b);

/** The sessions whose maps are shown. */
export const watched = computed<string[]>(() => {
  const { session, other } = view.value;
  return other && other !== session ? [session, other] : [session];
});
