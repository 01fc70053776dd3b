// Runs that test a line of the ranking: with a smaller source, and the measured change next to the predicted one.
import { effect, signal } from "@preact/signals";
import { cellAt, positionOf, type Place } from "../maths/grid";
import { predicted, type Ranked } from "../maths/sources";
import type { Origin } from "../protocol/types";
import { timeText } from "./clock";
import { command } from "./actions";
import { nameOfChanges } from "./levers";
import { hasModel } from "./playback";
import { levers, open, present } from "./scenario";
import { geography, grid, http, notify, recorded, sessions } from "./store";
import { look, view } from "./view";

/** Remaining part of a source that a trial cuts. */
export const FACTOR = 0.8;
const START = "start";

export interface Trial {
  session: string;
  /** Of the ranking, see `Ranked.id`. */
  line: string;
  name: string;
  of: Origin;
  /** [mol/mol] */
  predicted: number;
  measured: number | null;
}

export const trials = signal<Trial[]>([]);

/** Return the trial of a line of a result, the newest first. */
export const trialOf = (of: Origin, line: string): Trial | undefined =>
  trials.value.findLast((each) => each.line === line && each.of.time === of.time && each.of.place === of.place && each.of.request.species === of.request.species);

/** Return the factor of a source with the cut, from its present one. */
const cut = (now: unknown): number => Number(((typeof now === "number" ? now : 1) * FACTOR).toPrecision(6));

/** Show the effect of a trial on the whole map, in the panel of scenarios. */
export const showEffect = (of: Trial): void => look({ other: of.session, compare: "swipe", panel: "scenario" });

/** Run a branch from the start with a smaller source, up to the time of the concentration. */
export async function tryCut(line: Ranked, of: Origin): Promise<void> {
  const parent = view.value.session;
  if (!hasModel()) {
    look({ panel: "scenario" }); // which offers to make it live
    return notify("done", "A trial needs the running model. Make the recorded day live first.");
  }
  const path = `emissions.scale.${line.scale}`;
  const changes = { [path]: cut(present.value[path]) };
  const made = await open(parent, START, changes, nameOfChanges(changes, levers.value, present.value));
  if (!made) return;
  trials.value = [...trials.value, { session: made.session, line: line.id, name: line.name, of, predicted: predicted(line.value, FACTOR), measured: null }];
  look({ other: made.session, compare: "swipe" });
  await command(made.session, { kind: "run", until: of.request.at });
  notify("done", `“${made.scenario}” starts at ${timeText(made.time, "hour")}.`);
}

/** Measure the effect of each trial once its run has recorded the time of the concentration. */
export function followTrials(): void {
  const asked = new Set<string>();
  effect(() => {
    void recorded.value;
    for (const trial of trials.value) {
      const at = trial.of.request.at;
      const reached = (sessions.value[trial.session]?.seconds ?? -Infinity) >= at - 1;
      if (trial.measured !== null || !reached || asked.has(trial.session)) continue;
      asked.add(trial.session);
      void measure(trial).catch(() => undefined).finally(() => asked.delete(trial.session));
    }
  });
}

async function measure(trial: Trial): Promise<void> {
  const value = await valueAt(trial.session, trial.of);
  if (value === null) return;
  trials.value = trials.value.map((each) => (each.session === trial.session ? { ...each, measured: value - trial.of.value } : each));
}

/** Return the recorded value of a session at the place and time of a concentration [mol/mol]. */
async function valueAt(session: string, of: Origin): Promise<number | null> {
  const map = grid.value;
  const at: Place | null = map && positionOf(map, geography.value?.places ?? null, [of.lon, of.lat]);
  const cell = map && at && cellAt(map, at);
  if (!cell) return null;
  const window = `${cell.row},${cell.row + 1},${cell.column},${cell.column + 1}`;
  const query = `at=${of.request.at}&level=${of.request.level}&window=${window}`;
  const [frame] = await http.frames(`/sessions/${session}/recording/${of.request.species}?${query}`);
  return frame && Math.abs(frame.header.seconds - of.request.at) < 1 ? (frame.values[0] ?? null) : null;
}
