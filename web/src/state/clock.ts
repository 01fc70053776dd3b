// The clock of the page: UTC, or that of the reader. All times that a reader sees are written by `timeText`.
import { computed } from "@preact/signals";
import { clockText, dayText, LOCAL, UTC, yearText, zoneText, type Zone } from "../maths/time_axis";
import { remembered } from "./preferences";

/** Whether times are those of the reader's clock in place of UTC. */
export const isLocalTime = remembered("local-time", false, (value) => typeof value === "boolean");
export const zone = computed<Zone>(() => (isLocalTime.value ? LOCAL : UTC));

/** Forms of a time: "15:00", "15:00 UTC", "31 Aug", "31 Aug 2022", "Wed 31 Aug, 15:00 UTC", and the same with the year. */
export type Form = "hour" | "clock" | "day" | "date" | "moment" | "dated moment";

/** Return a time [ms or ISO 8601] in the chosen clock; empty without one. */
export function timeText(time: number | string, form: Form): string {
  const at = typeof time === "string" ? Date.parse(time) : time;
  if (!Number.isFinite(at)) return "";
  const hour = clockText(at, zone.value);
  const [weekday = "", number = "", month = ""] = dayText(at, zone.value).split(" ");
  const day = `${number} ${month.slice(0, 3)}`;
  switch (form) {
    case "hour": return hour;
    case "clock": return `${hour} ${zoneName(at)}`;
    case "day": return day;
    case "date": return `${day} ${yearText(at, zone.value)}`;
    case "moment": return `${weekday} ${day}, ${hour} ${zoneName(at)}`;
    case "dated moment": return `${weekday} ${day} ${yearText(at, zone.value)}, ${hour} ${zoneName(at)}`;
  }
}

/** Return the name of the chosen clock at a time [ms]: "UTC", "UTC+2". */
export const zoneName = (time: number): string => zoneText(time, zone.value);
