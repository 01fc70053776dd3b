// Pointers, the wheel and keys on a map: drag to move, two fingers or the wheel to zoom, click to select.
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";
import type { Place } from "../maths/grid";
import { panned, toPlace, zoomed, type Camera } from "./camera";

export interface Gestures {
  move(camera: Camera): void;
  hover(place: Place | null): void;
  click(place: Place): void;
  /** Returns whether the key was handled. */
  key(key: string): boolean;
}

const STILL = 5;

export function useGestures(element: RefObject<HTMLElement | null>, camera: { readonly value: Camera }, gestures: Gestures): void {
  useEffect(() => {
    const target = element.current!;
    const end = new AbortController();
    const { signal } = end;
    const fingers = new Map<number, [number, number]>();
    let moved = 0;
    const at = (event: MouseEvent): [number, number] => {
      const box = target.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };

    target.addEventListener("pointerdown", (event) => {
      target.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, at(event));
      moved = 0;
    }, { signal });
    target.addEventListener("pointermove", (event) => {
      const now = at(event);
      const before = fingers.get(event.pointerId);
      gestures.hover(toPlace(camera.value, ...now));
      if (!before) return;
      moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (moved < STILL) return;
      gestures.move(dragged(camera.value, fingers, event.pointerId, before, now));
      fingers.set(event.pointerId, now);
    }, { signal });
    target.addEventListener("pointerup", (event) => {
      if (fingers.delete(event.pointerId) && moved < STILL) gestures.click(toPlace(camera.value, ...at(event)));
    }, { signal });
    target.addEventListener("pointercancel", (event) => fingers.delete(event.pointerId), { signal });
    target.addEventListener("pointerleave", () => gestures.hover(null), { signal });
    target.addEventListener("wheel", (event) => {
      event.preventDefault();
      gestures.move(zoomed(camera.value, Math.exp(-event.deltaY / 400), ...at(event)));
    }, { signal, passive: false });
    target.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !gestures.key(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
    }, { signal });
    return () => end.abort();
  }, []);
}

function dragged(
  camera: Camera, fingers: Map<number, [number, number]>, moving: number, before: [number, number], now: [number, number],
): Camera {
  const other = [...fingers].find(([id]) => id !== moving)?.[1];
  if (!other) return panned(camera, now[0] - before[0], now[1] - before[1]);
  const apart = (point: [number, number]) => Math.hypot(point[0] - other[0], point[1] - other[1]);
  return zoomed(camera, apart(now) / Math.max(apart(before), 1), ...other);
}
