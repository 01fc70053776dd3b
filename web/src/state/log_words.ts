// Commands of the log as sentences: the author, the change, and the hour from which it acts.
import { number, span } from "../maths/format";
import { pretty } from "../maths/units";
import type { LogEntry, Variable } from "../protocol/types";
import { timeText } from "./clock";
import { fieldText } from "./fields";
import { nameOfChanges, type Lever } from "./levers";

/** The words of a run that sentences contain. */
export interface LogContext {
  levers: Lever[];
  variables: readonly Variable[];
  /** Name of a longitude and latitude. */
  placeName(at: readonly [number, number]): string;
}

type Arguments = Record<string, unknown>;

const OPERATIONS: Record<string, (value: string) => string> = {
  set: (value) => `set to ${value}`, add: (value) => `${value} added`, multiply: (value) => `multiplied by ${value}`,
};

/** Return a command in words: "Road transport −50 %, Germany". */
export function commandText(of: Arguments, context: LogContext): string {
  switch (of["kind"]) {
    case "set": return nameOfChanges(of["changes"] as Arguments, context.levers, {});
    case "release": return releaseText(of, context);
    case "paint": return paintText(of, context);
    case "snapshot": return "State stored";
    case "forget": return "Stored state deleted";
    case "restore": return "Return to an earlier state";
    case "restart": return "Return to the start";
    case "branch": return of["changes"] && Object.keys(of["changes"]).length ? `Branch: ${nameOfChanges(of["changes"] as Arguments, context.levers, {})}` : "Branch without changes";
    default: return String(of["kind"] ?? "Unknown command");
  }
}

const nameOf = (name: unknown, { variables }: LogContext): string => {
  const found = variables.find((each) => each.name === name);
  return found ? fieldText(found) : String(name);
};

function releaseText(of: Arguments, context: LogContext): string {
  const place = context.placeName([Number(of["lon"]), Number(of["lat"])]);
  return `Release of ${number(Number(of["rate"]))} ${String(of["unit"] ?? "kg/s")} ${nameOf(of["species"], context)} for ${span(Number(of["duration"]))}, ${place}`;
}

function paintText(of: Arguments, context: LogContext): string {
  const value = number(Number(of["value"]));
  const variable = context.variables.find((each) => each.name === of["variable"]);
  const operation = String(of["operation"] ?? "set");
  const amount = operation === "multiply" || !variable ? value : `${value} ${pretty(variable.unit)}`;
  return `${nameOf(of["variable"], context)} ${(OPERATIONS[operation] ?? OPERATIONS["set"]!)(amount)} in a drawn area`;
}

/** Return an entry as a sentence: "Anna: road transport −50 %, Germany, from 31 Aug 06:00". `start` is the time of second 0. */
export function entryText(entry: LogEntry, start: string, context: LogContext): string {
  const time = Date.parse(start) + 1000 * entry.seconds;
  return `${entry.author}: ${commandText(entry.command, context)}, from ${timeText(time, "day")} ${timeText(time, "hour")}`;
}
