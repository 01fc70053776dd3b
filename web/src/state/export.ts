// Files of the displayed view: pictures, films, charts and data, with names that state the run, the field and the hour.
import { svgText } from "../charts/svg_file";
import { compose, type Caption, type Part } from "../map/compose";
import { filmKind, record } from "../map/film";
import { placeText } from "../maths/grid";
import { isSite } from "../protocol/recorded_site";
import { requested } from "./actions";
import { csvText, rowsText, valueText, type Column } from "./csv";
import { density, drawnAt } from "./density";
import { fieldText, titleOf } from "./fields";
import { heightText } from "./heights";
import { timeText } from "./clock";
import { covered } from "./layout";
import { nameOf } from "./names";
import { positionName } from "./place_names";
import { marked, profiles, series } from "./places";
import { colours, comparing, range, unit } from "./scale";
import { pairs, pollutant } from "./stations";
import { http, info, level, notify, past, placeOf, session, shown, variable } from "./store";
import { displayedTime, movingTime, playhead, showTime, view, watched } from "./view";

export interface Saving {
  id: string;
  text: string;
  /** Ending of the file. */
  kind: string;
  save(): Promise<void> | void;
}

/** Pixels per CSS pixel of a saved picture. */
const FINE = 2;
/** Recorded hours that a film shows in a second. */
const PACE = 3;

/** Return all files that can be saved now. */
export function possible(): Saving[] {
  return [...ofMap(), ...ofCharts(), ...ofTables(), ...ofData()];
}

function ofMap(): Saving[] {
  if (!shown(view.value.session)) return [];
  const film = filmKind() && hours().length > 1;
  return [
    { id: "png", text: "Picture of the map", kind: "png", save: savePicture },
    ...(film ? [{ id: "webm", text: "Film of the recorded hours", kind: "webm", save: saveFilm }] : []),
  ];
}

function ofCharts(): Saving[] {
  const charts = [...document.querySelectorAll<HTMLElement>(".chart:not(.curtain)")];
  return charts.flatMap((each, k) => {
    const chart = each.querySelector<SVGSVGElement>(".plot svg");
    const name = (each.querySelector(".plot")?.getAttribute("aria-label") ?? `chart ${k + 1}`).replace(/\. Arrow keys.*$/, "");
    const save = () => chart && download(new Blob([svgText(chart, name)], { type: "image/svg+xml" }), fileName([slug(name)], "svg"));
    return chart ? [{ id: `svg-${k}`, text: `Chart: ${name}`, kind: "svg", save: () => void save() }] : [];
  });
}

function ofTables(): Saving[] {
  const seriesColumns = columnsOf(series.value);
  const profileColumns = profiles.value.map((each, k): Column => ({ title: titleFor(k), points: each.points.map(([value, height]) => [height, value]) }));
  const iso = (time: number) => new Date(time).toISOString().replace(".000", "");
  const table = (id: string, text: string, content: () => string): Saving =>
    ({ id, text, kind: "csv", save: () => download(new Blob([content()], { type: "text/csv" }), fileName([id], "csv")) });
  return [
    ...(pairs.value?.series.length ? [table("stations", "Model and observations at the stations", pairsText)] : []),
    ...(seriesColumns.length ? [table("series", "Series at the marked places", () => csvText("time (UTC)", seriesColumns, iso))] : []),
    ...(profileColumns.length ? [table("profiles", "Profiles at the marked places", () => csvText("height (m)", profileColumns))] : []),
  ];
}

/** Return the hourly pairs of model and observation as a table. */
function pairsText(): string {
  const start = Date.parse(info.value?.start ?? "");
  const time = (seconds: number) => new Date(start + 1000 * seconds).toISOString().replace(".000", "");
  const rows = (pairs.value?.series ?? []).flatMap((each) => each.begin.map((begin, k) =>
    [each.station, time(begin), time(each.end[k]!), cellText(each.observed[k]), cellText(each.modelled[k])]));
  return rowsText([["station", "begin", "end", `observed [${pollutant.value?.unit ?? ""}]`, "modelled"], ...rows]);
}

const cellText = (value: number | null | undefined): string => valueText(value ?? NaN);

function ofData(): Saving[] {
  if (isSite() || !variable.value || !info.value) return [];
  const data = (id: string, text: string, query: string, part: string[]): Saving => ({ id, text, kind: "nc", save: () => saveData(query, part) });
  const at = displayedTime.value;
  return [
    data("hour", "Data of this hour", at === null ? "" : `&at=${at}`, [hourText()]),
    ...(hours().length > 1 ? [data("hours", "Data of all recorded hours", "&recorded=true", ["all-hours"])] : []),
  ];
}

async function saveData(query: string, part: string[]): Promise<void> {
  const found = await requested(() => http.file(`/sessions/${view.value.session}/netcdf?variables=${variable.value?.name}${query}`));
  if (found) download(found, fileName(part, "nc"));
}

async function savePicture(): Promise<void> {
  const canvas = document.createElement("canvas");
  const name = await drawnAt(FINE, () => {
    draw(canvas, density());
    return fileName([hourText()], "png"); // of the drawn hour: the recorded hours may play
  });
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob) download(blob, name);
}

async function saveFilm(): Promise<void> {
  const times = hours();
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const before = view.value.at;
  const name = fileName(["film"], "webm");
  notify("done", `The film is recorded while it plays, for ${Math.ceil((times.length - 1) / PACE)} s.`);
  const found = await record({
    length: (times.length - 1) / PACE,
    show: (part) => (movingTime.value = playhead.value = first + part * (last - first)),
    draw: (canvas) => draw(canvas, 1),
    cancelled: () => movingTime.value === null, // the reader has chosen another time
  });
  if (found) {
    showTime(before);
    download(found, name);
  } else notify("done", "The film was not saved, because another time was chosen.");
}

/** Return the recorded times of the displayed field [s]. */
function hours(): number[] {
  return past(view.value.session).frames.filter((each) => each.header.subscription === null).map((each) => each.header.seconds);
}

function draw(canvas: HTMLCanvasElement, pixels: number): void {
  const maps = document.querySelector<HTMLElement>(".maps");
  if (maps) compose(canvas, maps, freeArea(maps), caption(), pixels);
}

/** Return the part of the maps that neither bars nor the dock cover. */
function freeArea(maps: HTMLElement): Part {
  const { left, top, width, height } = maps.getBoundingClientRect();
  const hidden = covered.value;
  const free = { width: width - Math.max(hidden.right - (innerWidth - left - width), 0), height: height - hidden.top - hidden.bottom };
  return { left, top: top + hidden.top, ...free };
}

function caption(): Caption {
  const field = variable.value;
  const names = watched.value.map(nameOf);
  const runs = comparing.value ? `${names[1]} minus ${names[0]}` : names.join(" | ");
  const height = field && field.dims.length > 2 ? heightText(info.value?.grid.levels ?? [], level.value, field.shape[0]) : "";
  return {
    title: [field && fieldText(field), comparing.value && "difference"].filter(Boolean).join(", "),
    lines: [timeText(shown(view.value.session)?.header.time ?? "", "dated moment"), height, ...new Set([session.value?.title ?? "", runs])].filter(Boolean),
    unit: unit.value?.label ?? "", range: range.value, colours: colours.value,
  };
}

/** Return the series of the marked places as columns. */
function columnsOf(curves: typeof series.value): Column[] {
  const runs = watched.value.length;
  return curves.filter((each) => each.points.length > 1)
    .map((each, k) => ({ title: titleFor(Math.floor(k / runs), runs > 1 ? nameOf(watched.value[k % runs] ?? "") : undefined), points: each.points }));
}

function titleFor(place: number, run?: string): string {
  const at = marked.value[place]?.place;
  const where = at ? positionName(at) || placeText(placeOf(at) ?? at) : "";
  const what = variable.value ? `${titleOf(variable.value)} [${unit.value?.label ?? ""}]` : "";
  return [what, where, run].filter(Boolean).join(", ");
}

/** Return a name of a file: the case, the run where it is a branch, the field, and the rest. */
export function fileName(rest: readonly string[], ending: string): string {
  const now = session.value;
  const run = now?.parent ? [slug(nameOf(now.session))] : [];
  return `${[slug(now?.case ?? "airshed"), ...run, slug(variable.value?.name ?? ""), ...rest].filter(Boolean).join("-")}.${ending}`;
}

/** Return the displayed hour as a part of a file name: "2022-08-31T1500". */
function hourText(): string {
  return (shown(view.value.session)?.header.time ?? "").slice(0, 16).replace(":", "");
}

/** Return a text as a part of a file name. */
export const slug = (text: string): string =>
  text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").replace(/[^A-Za-z0-9_.]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 60);

function download(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
