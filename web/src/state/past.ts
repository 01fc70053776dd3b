// Ring buffer of past frames of the displayed field, for scrolling back in time.
import type { Frame } from "../protocol/frames";

const MOST_FRAMES = 400;
const MOST_BYTES = 96e6;

export class Past {
  private kept: Frame[] = [];

  get frames(): readonly Frame[] {
    return this.kept;
  }

  get last(): Frame | null {
    return this.kept.at(-1) ?? null;
  }

  /** Store a frame. Frames that are not earlier are discarded: the run has returned to an earlier state. */
  add(frame: Frame): void {
    const { seconds, variable, level } = frame.header;
    if (this.last && (this.last.header.variable !== variable || this.last.header.level !== level)) this.kept = [];
    while (this.last && this.last.header.seconds >= seconds) this.kept.pop();
    this.kept.push(frame);
    const room = Math.max(2, Math.min(MOST_FRAMES, Math.floor(MOST_BYTES / Math.max(frame.values.byteLength, 1))));
    if (this.kept.length > room) this.kept.shift();
  }

  /** Return the latest time [s] for which both have a frame, or null. */
  together(other: Past): number | null {
    const times = new Set(other.kept.map((frame) => frame.header.seconds));
    return this.kept.findLast((frame) => times.has(frame.header.seconds))?.header.seconds ?? null;
  }

  /** Return the latest frame at or before a time [s], or the first one. */
  at(seconds: number): Frame | null {
    return this.kept.findLast((frame) => frame.header.seconds <= seconds) ?? this.kept[0] ?? null;
  }
}
