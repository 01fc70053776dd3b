// The two recorded hours around the playing time, which the GPU mixes at each frame of the screen.
import { convert, type Unit } from "../maths/units";
import type { Frame } from "../protocol/frames";
import { airAt } from "./companions";
import { unit, type Shown } from "./scale";
import { past } from "./store";
import { playhead } from "./view";

export interface Mix {
  values: Float32Array;
  /** The values of the next hour, and their part in the picture: 0 to 1. */
  next: Float32Array | null;
  part: number;
}

interface Converted {
  unit: Unit;
  air: Float32Array | null;
  values: Float32Array;
}

const converted = new WeakMap<Frame, Converted>();

/** Return the values of a frame in a unit; those of the last conversion of each frame are stored. */
function inUnit(frame: Frame, of: Unit, air: Float32Array | null): Float32Array {
  const known = converted.get(frame);
  if (known?.unit.id === of.id && known.air === air) return known.values;
  const values = convert(frame.values, of, air);
  converted.set(frame, { unit: of, air, values });
  return values;
}

/** Return the hours to mix for a displayed field: around the playing time, otherwise the field alone. */
export function mixOf(shown: Shown): Mix {
  const alone = { values: shown.values, next: null, part: 0 };
  const [at, of] = [playhead.value, unit.value];
  if (at === null || !of) return alone;
  const [before, after] = past(shown.session).around(at);
  if (!before || before.header.variable !== shown.frame.header.variable) return alone;
  const air = ({ header }: Frame) => (of.byAir ? airAt(header.seconds) : null);
  const values = inUnit(before, of, air(before));
  if (!after) return { values, next: null, part: 0 };
  const part = (at - before.header.seconds) / (after.header.seconds - before.header.seconds);
  return { values, next: inUnit(after, of, air(after)), part: Math.min(Math.max(part, 0), 1) };
}
