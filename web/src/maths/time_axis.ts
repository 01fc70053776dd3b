// The axis of time: ticks with hours, days or months, and the periods that they belong to, by the width of the axis.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/** Offset of a zone from UTC at a time [ms]: zero, or that of the reader's clock. */
export type Zone = (time: number) => number;
export const UTC: Zone = () => 0;
export const LOCAL: Zone = (time) => -MINUTE * new Date(time).getTimezoneOffset();

export interface Tick {
  time: number;
  text: string;
}

/** A day, month or year on the axis, with its names from the longest to the shortest. */
export interface Period {
  from: number;
  to: number;
  names: string[];
}

type Unit = "day" | "month" | "year";

/** Return the start of the period `steps` after the one that holds a time, in UTC. */
function start(time: number, unit: Unit, steps: number): number {
  const date = new Date(time);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (unit === "year") return Date.UTC(year + steps, 0);
  return unit === "month" ? Date.UTC(year, month + steps) : Date.UTC(year, month, day + steps);
}

function namesOf(time: number, unit: Unit): string[] {
  const date = new Date(time);
  const year = String(date.getUTCFullYear());
  const month = MONTHS[date.getUTCMonth()] ?? "";
  if (unit === "year") return [year];
  if (unit === "month") return [`${month} ${year}`, month.slice(0, 3), month.slice(0, 1)];
  const [weekday, day] = [WEEKDAYS[date.getUTCDay()], date.getUTCDate()];
  return [`${weekday} ${day} ${month}`, `${weekday} ${day} ${month.slice(0, 3)}`, `${weekday} ${day}`, `${day}`];
}

/** Least width of a period with a name, and of the distance of two ticks [pixels]. */
const PERIOD = 60;
const TICK = 46;

const unitFor = (perDay: number): Unit => (perDay >= PERIOD ? "day" : perDay * 30 >= PERIOD ? "month" : "year");

/** Return the periods of a span [ms] on an axis of some width [pixels]. */
export function periods(from: number, to: number, width: number, zone: Zone = UTC): Period[] {
  const unit = unitFor((width * DAY) / Math.max(to - from, 1));
  const found: Period[] = [];
  for (let at = start(from + zone(from), unit, 0); at - zone(at) < to; at = start(at, unit, 1)) {
    const end = start(at, unit, 1);
    found.push({ from: Math.max(at - zone(at), from), to: Math.min(end - zone(end), to), names: namesOf(at, unit) });
  }
  return found;
}

const STEPS = [5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR];

/** Return the ticks of a span [ms]: hours in days, days in months, months in years. */
export function ticks(from: number, to: number, width: number, zone: Zone = UTC): Tick[] {
  const perDay = (width * DAY) / Math.max(to - from, 1);
  const unit = unitFor(perDay);
  const found = unit === "day" ? hours(from, to, perDay, zone) : unit === "month" ? days(from, to, perDay, zone) : months(from, to, perDay, zone);
  return found.filter((each) => each.time >= from && each.time <= to);
}

function hours(from: number, to: number, perDay: number, zone: Zone): Tick[] {
  const step = STEPS.find((each) => (perDay * each) / DAY >= TICK) ?? DAY;
  const found: Tick[] = [];
  for (let at = start(from + zone(from), "day", 0); at - zone(at) <= to; at += step) found.push({ time: at - zone(at), text: new Date(at).toISOString().slice(11, 16) });
  return found;
}

function days(from: number, to: number, perDay: number, zone: Zone): Tick[] {
  const shown = [[1, 6, 11, 16, 21, 26], [1, 11, 21], [1, 16], [1]].find((each) => (30 * perDay) / each.length >= TICK / 1.5) ?? [];
  const found: Tick[] = [];
  for (let month = start(from + zone(from), "month", 0); month <= to + zone(to); month = start(month, "month", 1)) {
    for (const day of shown) found.push(tickAt(month + (day - 1) * DAY, String(day), zone));
  }
  return found;
}

function months(from: number, to: number, perDay: number, zone: Zone): Tick[] {
  const step = [1, 3, 6, 12].find((each) => 30 * perDay * each >= TICK) ?? 12;
  const found: Tick[] = [];
  for (let month = start(from + zone(from), "year", 0); month <= to + zone(to); month = start(month, "month", step)) {
    found.push(tickAt(month, step === 12 ? "" : (MONTHS[new Date(month).getUTCMonth()] ?? "").slice(0, 3), zone));
  }
  return found;
}

const tickAt = (at: number, text: string, zone: Zone): Tick => ({ time: at - zone(at), text });

/** Width of a letter [pixels], on the safe side. */
const LETTER = 7.2;

/** Return the longest name that fits into a width [pixels]; empty where none does. */
export function nameFor(names: string[], width: number): string {
  return names.find((each) => each.length * LETTER + 10 <= width) ?? "";
}

/** Return the day of a time, such as "Wed 31 August", its year, and its clock time, "14:00". */
export function dayText(time: number, zone: Zone = UTC): string {
  return namesOf(time + zone(time), "day")[0] ?? "";
}

export function yearText(time: number, zone: Zone = UTC): string {
  return String(new Date(time + zone(time)).getUTCFullYear());
}

export function clockText(time: number, zone: Zone = UTC): string {
  return new Date(time + zone(time)).toISOString().slice(11, 16);
}

/** Return the name of a zone at a time: "UTC", or its offset. */
export function zoneText(time: number, zone: Zone): string {
  const offset = zone(time) / MINUTE;
  if (!offset) return "UTC";
  const [whole, rest] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
  return `UTC${offset < 0 ? "−" : "+"}${whole}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}
