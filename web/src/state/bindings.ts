// Keyboard shortcuts. The help is generated from this list.
import { signal } from "@preact/signals";
import { branch, play, pause, step, toggle } from "./actions";
import { isDockOpen, openDock } from "./layout";
import { playing, togglePlayback } from "./playback";
import { range, unit, units } from "./scale";
import { openCard } from "./scenario";
import { level, variable } from "./store";
import { first, neighbour, timeline } from "./timeline";
import { redo, undo } from "./undo";
import { COMPARES, displayedTime, look, PANELS, showTime, view, type Panel, type Theme, type Wind } from "./view";

export interface Binding {
  keys: string[];
  /** Text in the help, where it differs from the keys. */
  shown?: string[];
  group: "Time" | "Map" | "Model" | "Scenario" | "Page";
  text: string;
  run(): void;
}

export const helpOpen = signal(false);

const WINDS: Wind[] = ["none", "arrows", "particles"];
const THEMES: Theme[] = ["auto", "light", "dark"];

const after = <T,>(all: readonly T[], one: T): T => all[(all.indexOf(one) + 1) % all.length] as T;

/** Move by a number of recorded hours; after the last one comes the present. */
export function scroll(frames: number): void {
  playing.value = false;
  if (timeline.value) showTime(neighbour(timeline.value, displayedTime.value, frames));
}

export function climb(levels: number): void {
  const count = variable.value && variable.value.dims.length > 2 ? (variable.value.shape[0] ?? 1) : 1;
  look({ level: Math.min(Math.max(level.value + levels, 0), count - 1) });
}

export function nextUnit(): void {
  const selected = variable.value;
  if (!selected || !unit.value) return;
  look({ unit: after(units.value.map((each) => each.id), unit.value.id), range: view.value.range === "map" ? "map" : null });
}

/** Change between the range of the field, which is the same at all hours, and that of the map. */
export function nextRange(): void {
  look({ range: view.value.range === "map" ? null : "map" });
}

export const BINDINGS: Binding[] = [
  { keys: [" "], group: "Time", text: "Play or stop the recorded hours", run: togglePlayback },
  { keys: ["j"], group: "Time", text: "Previous hour", run: () => scroll(-1) },
  { keys: ["k"], group: "Time", text: "Next hour", run: () => scroll(1) },
  { keys: ["Home"], group: "Time", text: "First recorded hour", run: () => timeline.value && showTime(first(timeline.value)) },
  { keys: ["n", "End"], group: "Time", text: "Latest hour; follow the run", run: () => showTime(null) },
  { keys: ["m"], group: "Model", text: "Run or pause the model", run: () => void toggle() },
  { keys: ["."], group: "Model", text: "One step of the model", run: () => void step() },
  { keys: ["e"], group: "Model", text: "Run the model to the end", run: () => void play() },
  { keys: ["p"], group: "Model", text: "Pause the model", run: () => void pause() },
  { keys: ["]"], group: "Map", text: "One level up", run: () => climb(1) },
  { keys: ["["], group: "Map", text: "One level down", run: () => climb(-1) },
  { keys: ["u"], group: "Map", text: "Next unit", run: nextUnit },
  { keys: ["l"], group: "Map", text: "Logarithmic scale", run: () => look({ log: !range.value.log }) },
  { keys: ["r"], group: "Map", text: "Range of the scale: the same at all hours, or that of the map", run: nextRange },
  { keys: ["s"], group: "Map", text: "Smooth field or cells", run: () => look({ smooth: !view.value.smooth }) },
  { keys: ["c"], group: "Map", text: "Contours", run: () => look({ contours: !view.value.contours }) },
  { keys: ["w"], group: "Map", text: "Wind: arrows, particles, none", run: () => look({ wind: after(WINDS, view.value.wind) }) },
  { keys: ["f"], group: "Map", text: "Whole map", run: () => look({ camera: null }) },
  { keys: ["z"], shown: ["z", "Ctrl-Z"], group: "Scenario", text: "Undo the last change", run: () => void undo() },
  { keys: ["y"], shown: ["y", "Ctrl-Shift-Z"], group: "Scenario", text: "Redo the change that was undone", run: () => void redo() },
  { keys: ["b"], group: "Scenario", text: "Branch from here", run: () => void branch() },
  { keys: ["q"], group: "Scenario", text: "What if …: a new scenario", run: () => (showPanel("scenario"), openCard()) },
  { keys: ["d"], group: "Scenario", text: "Two runs side by side, on both sides of a line, or their difference", run: () => look({ compare: after(COMPARES, view.value.compare) }) },
  { keys: PANELS.map((_, k) => String(k + 1)), shown: ["1", "–", String(PANELS.length)], group: "Page", text: "Panels, from first to last", run: () => undefined },
  { keys: ["o"], group: "Page", text: "Show or hide the panels", run: () => openDock(!isDockOpen.value) },
  { keys: ["t"], group: "Page", text: "Light, dark or system theme", run: () => look({ theme: after(THEMES, view.value.theme) }) },
  { keys: ["?"], group: "Page", text: "This list", run: () => (helpOpen.value = !helpOpen.value) },
];

const TYPING = new Set(["INPUT", "SELECT", "TEXTAREA"]);
const PRESSED = new Set(["BUTTON", "SUMMARY", "A"]);
/** Inputs without text, and the keys that they use. */
const MOVED: Record<string, string[]> = { range: ["Home", "End"], checkbox: [" "] };

/** Return whether a key is for the focused element instead of the page. */
function isTaken(target: HTMLElement, key: string): boolean {
  const own = target instanceof HTMLInputElement ? MOVED[target.type] : undefined;
  if (own) return own.includes(key);
  return TYPING.has(target.tagName) || (key === " " && PRESSED.has(target.tagName));
}

/** Whether an element has an undo of its own for its text. */
const isText = (target: HTMLElement): boolean =>
  target.tagName === "TEXTAREA" || (target instanceof HTMLInputElement && !["range", "checkbox", "radio", "button"].includes(target.type));

function showPanel(panel: Panel): void {
  look({ panel });
  openDock(true);
}

export function listen(): void {
  addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z" && !isText(target)) {
      event.preventDefault();
      void (event.shiftKey ? redo() : undo());
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTaken(target, event.key)) return;
    if (target.closest("dialog") && event.key !== "?") return;
    const panel = PANELS[Number(event.key) - 1];
    const found = BINDINGS.find((each) => each.keys.includes(event.key));
    if (panel) showPanel(panel);
    else if (found) found.run();
    else return;
    event.preventDefault();
  });
}
