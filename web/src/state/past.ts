// Frames of the displayed field at past times: recorded by the server, and received while the page watches.
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

  /** Store a frame of the present. Frames that are not earlier are discarded: the run has returned to an earlier state. */
  add(frame: Frame): void {
    this.begin(frame);
    while (this.last && this.last.header.seconds >= frame.header.seconds) this.kept.pop();
    this.kept.push(frame);
    this.shrink();
  }

  /** Store recorded frames of one field at the times that have none. */
  merge(frames: Frame[]): void {
    const [first] = frames;
    if (!first) return;
    this.begin(first);
    const known = new Set(this.kept.map((each) => each.header.seconds));
    this.kept = [...this.kept, ...frames.filter((each) => !known.has(each.header.seconds))];
    this.kept.sort((one, other) => one.header.seconds - other.header.seconds);
    this.shrink();
  }

  /** Discard the frames of another field. */
  private begin({ header }: Frame): void {
    if (this.last && (this.last.header.variable !== header.variable || this.last.header.level !== header.level)) this.kept = [];
  }

  /** Discard the oldest frames between records, then the oldest records. */
  private shrink(): void {
    const each = Math.max(this.last?.values.byteLength ?? 1, 1);
    const room = Math.max(2, Math.min(MOST_FRAMES, Math.floor(MOST_BYTES / each)));
    while (this.kept.length > room) {
      const between = this.kept.findIndex((frame) => frame.header.subscription !== null);
      this.kept.splice(between >= 0 && between < this.kept.length - 1 ? between : 0, 1);
    }
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

  /** Return the latest frame at or before a time [s] and the frame after it. */
  around(seconds: number): [Frame | null, Frame | null] {
    return [this.at(seconds), this.kept.find((frame) => frame.header.seconds > seconds) ?? null];
  }

  /** Return the values at a time [s], linear between the frames around it. */
  between(seconds: number): Frame | null {
    const [before, after] = this.around(seconds);
    if (!before || !after || before.header.seconds >= seconds) return before;
    const part = (seconds - before.header.seconds) / (after.header.seconds - before.header.seconds);
    const values = before.values.map((value, k) => value + part * ((after.values[k] ?? NaN) - value));
    const time = new Date(Date.parse(before.header.time) + 1000 * (seconds - before.header.seconds)).toISOString();
    return { header: { ...before.header, seconds, time }, values };
  }

  /** The extremes of all records, in the unit of the model; empty without two or more records. */
  get extremes(): number[] {
    const records = this.kept.filter((frame) => frame.header.subscription === null);
    return records.length > 1 ? records.flatMap((frame) => frame.header.range ?? []) : [];
  }
}
