// A field that is drawn in place of the model's, with its own range and legend, such as a map of sources.
import { signal } from "@preact/signals";
import type { Place } from "../maths/grid";
import type { Range } from "../maths/range";
import type { Frame } from "../protocol/frames";

export interface Dot {
  station: { id: string };
  at: Place;
  observed: number;
}

export interface Overlay {
  session: string;
  frame: Frame;
  /** In the unit of the legend. */
  values: Float32Array;
  range: Range;
  title: string;
  unit: string;
  /** Meaning of the lower and of the upper end of the colours. */
  ends: [low: string, high: string];
  /** A marked location: longitude and latitude. */
  at: Place | null;
  /** Values at stations, by their positions on the map. */
  dots?: Dot[];
}

/** The displayed overlay; null for the field of the model. */
export const overlay = signal<Overlay | null>(null);
