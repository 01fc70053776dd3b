// The layout of the window: the dock, and the areas of the map that other parts cover.
import { computed, effect, signal } from "@preact/signals";
import { remembered } from "./preferences";
import { overlay } from "./overlay";
import { view, watched } from "./view";

/** Areas at the edges of the window, or of a map [pixels]. */
export interface Edges {
  top: number;
  right: number;
  bottom: number;
}

/** Areas of the window that the bars and the dock cover. */
export const covered = signal<Edges>({ top: 0, right: 0, bottom: 0 });

/** Covered areas of each map: maps side by side share the space next to the dock. */
export const mapEdges = computed<Edges>(() => (watched.value.length > 1 && view.value.compare === "beside" && !overlay.value ? { ...covered.value, right: 0 } : covered.value));

/** Width [pixels] up to which the dock is a sheet at the bottom; the style sheets have the same number. */
const NARROW = "(max-width: 820px)";
const query = typeof matchMedia === "function" ? matchMedia(NARROW) : null;
export const isNarrow = signal(query?.matches ?? false);
query?.addEventListener?.("change", (event) => (isNarrow.value = event.matches));

const isFlag = (value: unknown): boolean => typeof value === "boolean";
const between = (low: number, high: number) => (value: unknown): boolean => typeof value === "number" && value >= low && value <= high;

export const WIDTHS = { least: 260, usual: 340, most: 720 };
/** Heights of the sheet as parts of the window. */
export const HEIGHTS = { least: 0.15, usual: 0.42, most: 0.7 };
export const dockWidth = remembered("dock-width", WIDTHS.usual, between(WIDTHS.least, WIDTHS.most));
export const sheetHeight = remembered("sheet-height", HEIGHTS.usual, between(HEIGHTS.least, HEIGHTS.most));
const dockOpen = remembered("dock-open", true, isFlag);
const sheetOpen = signal(false);

export const isDockOpen = computed(() => (isNarrow.value ? sheetOpen.value : dockOpen.value));

export function openDock(open: boolean): void {
  (isNarrow.peek() ? sheetOpen : dockOpen).value = open;
}

const limited = (value: number, { least, most }: { least: number; most: number }): number => Math.min(Math.max(value, least), most);

/** Set the width of the dock [pixels]; much less than the least width closes it. */
export function resizeDock(width: number): void {
  openDock(width > WIDTHS.least / 2);
  if (isDockOpen.peek()) dockWidth.value = Math.round(limited(width, WIDTHS));
}

/** Set the height of the sheet as a part of the window; a small one closes it. */
export function resizeSheet(part: number): void {
  openDock(part > HEIGHTS.least / 2);
  if (isDockOpen.peek()) sheetHeight.value = limited(part, HEIGHTS);
}

/** Open the dock when another panel is selected or a place is marked. */
export function openDockForContent(): void {
  const content = computed(() => `${view.value.panel} ${view.value.places.length} ${view.value.line !== null}`);
  let before = content.peek();
  effect(() => {
    if (content.value !== before) openDock(true);
    before = content.value;
  });
}

/** Observe the sizes of the bars and the dock, and set the covered areas; the style sheets read them as variables. */
export function observeCovered(page: HTMLElement): () => void {
  const measure = () => {
    const of = (name: string) => page.querySelector(name)?.getBoundingClientRect() ?? { width: 0, height: 0 };
    const [top, dock, time] = [of(".top"), of(".dock"), of(".timebar")];
    const next = isNarrow.value
      ? { top: top.height, right: 0, bottom: time.height + dock.height }
      : { top: top.height, right: dock.width, bottom: time.height };
    if (JSON.stringify(next) === JSON.stringify(covered.peek())) return;
    covered.value = next;
    for (const [edge, size] of Object.entries({ ...next, timebar: time.height + (isNarrow.value ? dock.height : 0) })) page.style.setProperty(`--covered-${edge}`, `${size}px`);
  };
  measure();
  const sizes = new ResizeObserver(measure);
  for (const each of page.querySelectorAll(".top, .dock, .timebar")) sizes.observe(each);
  return () => sizes.disconnect();
}
