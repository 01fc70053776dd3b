// Binary frames, see docs/how-to/serve.md: "ASF1", length of the header, header, values.
import type { FrameHeader } from "./types";

export interface Frame {
  header: FrameHeader;
  /** Row by row, from south to north; NaN where missing. */
  values: Float32Array;
}

const MAGIC = 0x31465341;

/** Return the frames of a message, or of a response with several frames. Throws for invalid bytes. */
export function decodeFrames(buffer: ArrayBuffer): Frame[] {
  const view = new DataView(buffer);
  const frames: Frame[] = [];
  for (let at = 0; at < buffer.byteLength; ) {
    if (view.getUint32(at, true) !== MAGIC) throw new Error(`no frame starts at byte ${at} of ${buffer.byteLength}`);
    const size = view.getUint32(at + 4, true);
    const text = new TextDecoder().decode(new Uint8Array(buffer, at + 8, size));
    const header = JSON.parse(text) as FrameHeader;
    frames.push({ header, values: decodeValues(buffer, at + 8 + size, header) });
    at += 8 + size + Math.ceil(header.length / 8) * 8;
  }
  return frames;
}

function decodeValues(buffer: ArrayBuffer, at: number, header: FrameHeader): Float32Array {
  if (header.compression !== null) throw new Error(`values are compressed with ${header.compression}`);
  const count = header.shape.reduce((product, each) => product * each, 1);
  if (header.dtype === "<f4") return new Float32Array(buffer, at, count);
  const [low, high] = header.range ?? [0, 0];
  return Float32Array.from(new Uint8Array(buffer, at, count), (byte) =>
    byte === header.missing ? NaN : low + (byte * (high - low)) / 254,
  );
}
