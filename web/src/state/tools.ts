// Tools: the meaning of a click on the map.
import { signal } from "@preact/signals";
import type { Place } from "../maths/grid";
import { receptor } from "./origin";
import { placeOf } from "./store";
import { look, view } from "./view";

export type Tool = "place" | "line" | "release" | "paint";

export const tool = signal<Tool>("place");
/** Corners of the shape in progress. */
export const drawn = signal<Place[]>([]);
/** Longitude and latitude of the next release. */
export const releaseAt = signal<Place | null>(null);

const MOST_PLACES = 6;

export function choose(next: Tool): void {
  tool.value = next;
  drawn.value = [];
}

export function clickAt(place: Place): void {
  const at = rounded(place);
  if (tool.value === "place") pin(at);
  else if (tool.value === "release") releaseAt.value = roundedOrNull(placeOf(place));
  else if (tool.value === "paint") drawn.value = [...drawn.value, at];
  else hang(at);
}

const rounded = ([x, y]: Place): Place => [round(x), round(y)];

const roundedOrNull = (place: Place | null): Place | null => place && rounded(place);

const round = (degrees: number): number => Math.round(degrees * 1e4) / 1e4;

function pin(at: Place): void {
  if (view.value.panel === "origin") receptor.value = ""; // the last marked place
  look({ places: [...view.value.places, at].slice(-MOST_PLACES), panel: view.value.panel === "origin" ? "origin" : "place" });
}

function hang(at: Place): void {
  const first = drawn.value[0];
  if (!first) {
    drawn.value = [at];
    return;
  }
  look({ line: [first, at], panel: "place" });
  choose("place");
}
