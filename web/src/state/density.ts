// Pixels of the canvases per CSS pixel: those of the screen, and more while a picture is saved.
import { signal } from "@preact/signals";

const ofScreen = (): number => globalThis.devicePixelRatio || 1;

const saved = signal<number | null>(null);

/** Return the present density; effects that read it draw again when it changes. */
export const density = (): number => saved.value ?? ofScreen();

/** Draw all canvases with a density, call a function after they are drawn, and return to the density of the screen. */
export async function drawnAt<T>(most: number, work: () => T): Promise<T> {
  saved.value = Math.max(most, ofScreen());
  try {
    return await afterDrawing(work);
  } finally {
    saved.value = null;
  }
}

/** Call a function in the next frame of the screen, after the layers that have changed are drawn: later their pixels are lost. */
export function afterDrawing<T>(work: () => T): Promise<T> {
  return new Promise((done, failed) => {
    requestAnimationFrame(() => {
      try {
        done(work());
      } catch (error) {
        failed(error instanceof Error ? error : new Error(String(error)));
      }
    });
  });
}
