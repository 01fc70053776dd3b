// The effect of a scenario in words: the compared times, and why less traffic may give more ozone.
import { number } from "../maths/format";
import type { Effect } from "../protocol/types";
import { timeText, zoneName } from "./clock";

const DAY = 86400;

/** Return the mean time between the compared records [s]; 0 for a single one. */
const interval = ({ hours, begin, end }: Effect): number => (hours > 1 ? (end.seconds - begin.seconds) / (hours - 1) : 0);

/** Whether the records are days or longer, so that hours have no meaning. */
export const isByDays = (of: Effect): boolean => interval(of) >= DAY;

/** Return the compared times: "12 hours, from 06:00 to 17:00 UTC", "37 dates, from 1 Jan 2020 to 26 Dec 2020". */
export function timesText(of: Effect): string {
  const { hours: count, begin, end } = of;
  if (isByDays(of)) return `${count} dates, from ${timeText(begin.time, "date")} to ${timeText(end.time, "date")}`;
  const across = end.seconds - begin.seconds >= DAY;
  const text = (iso: string) => (across ? `${timeText(iso, "date")}, ${timeText(iso, "hour")}` : timeText(iso, "hour"));
  return `${count} ${count === 1 ? "hour" : "hours"}, from ${text(begin.time)} to ${text(end.time)} ${zoneName(Date.parse(end.time))}`;
}

/** Return a time of the comparison: an hour, or a date. */
export const timeOfEffect = (of: Effect, iso: string): string => (isByDays(of) ? timeText(iso, "date") : timeText(iso, "hour"));

/** Return the change of the mean in words: "Over the whole area, the mean of green grass falls by 3 %." */
export function meanSentence({ domain: { before, after } }: Effect, title: string): string {
  const change = (100 * (after - before)) / Math.abs(before);
  const subject = `Over the whole area, the mean of ${title.charAt(0).toLowerCase()}${title.slice(1)}`;
  if (after === before) return `${subject} stays the same.`;
  const size = Number.isFinite(change) ? ` by ${number(Math.abs(change), 2)} %` : "";
  return `${subject} ${after < before ? "falls" : "rises"}${size}.`;
}

/** Pollutants, and sectors that burn fuel: a cut of their emission is one of nitrogen oxides. */
const NITROGEN = ["NOx", "NO", "NO2"];
const BURNING = ["A_PublicPower", "B_Industry", "C_OtherStatComb", "F_RoadTransport", "G_Shipping", "H_Aviation", "I_Offroad"];
const SCALE = "emissions.scale.";

/** Whether changes reduce an emission of nitrogen oxides; `kinds` are those of the keys of `emissions.scale`. */
export function cutsNitrogen(changes: Record<string, unknown>, kinds: Record<string, [kind: string, words: string]>): boolean {
  return Object.entries(changes).some(([path, value]) => {
    if (!path.startsWith(SCALE) || typeof value !== "number" || value >= 1) return false;
    const parts = path.slice(SCALE.length).split("/");
    const of = (kind: string) => parts.filter((part) => kinds[part]?.[0] === kind);
    const [pollutants, sectors] = [of("pollutant"), of("sector")];
    return (!pollutants.length || pollutants.some((each) => NITROGEN.includes(each))) && (!sectors.length || sectors.some((each) => BURNING.includes(each)));
  });
}
