// A film of the recorded hours, recorded by the browser from composed pictures.
import { afterDrawing } from "../state/density";

const RATE = 25;
const BITS = 8_000_000;
const KINDS = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"];

/** Return the kind of film that this browser can record; null for none. */
export const filmKind = (): string | null =>
  typeof MediaRecorder === "undefined" ? null : (KINDS.find((each) => MediaRecorder.isTypeSupported(each)) ?? null);

interface Film {
  /** Length [s]. */
  length: number;
  /** Show a part of the film: 0 at its start, 1 at its end. */
  show(part: number): void;
  draw(target: HTMLCanvasElement): void;
  cancelled(): boolean;
}

/** Record a film while it is shown; returns null for a cancelled one. */
export async function record(film: Film): Promise<Blob | null> {
  const canvas = document.createElement("canvas");
  film.show(0);
  await afterDrawing(() => film.draw(canvas)); // the size of a film is that of its first picture
  const parts: Blob[] = [];
  const recorder = new MediaRecorder(canvas.captureStream(RATE), { mimeType: filmKind() ?? "video/webm", videoBitsPerSecond: BITS });
  recorder.ondataavailable = (event) => parts.push(event.data);
  const ended = new Promise((done) => (recorder.onstop = done));
  recorder.start();
  const start = performance.now();
  for (let part = 0; part < 1 && !film.cancelled(); ) {
    part = Math.min((performance.now() - start) / 1000 / film.length, 1);
    film.show(part);
    await afterDrawing(() => film.draw(canvas));
  }
  recorder.stop();
  await ended;
  return film.cancelled() ? null : new Blob(parts, { type: "video/webm" });
}
