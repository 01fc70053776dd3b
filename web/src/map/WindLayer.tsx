// Wind over the field: trails of particles, or arrows; arrows for readers who prefer reduced motion and without WebGL2.
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { mapWind, windReference } from "../state/companions";
import { geography, grid } from "../state/store";
import { isDark } from "../state/theme";
import { drawnWind } from "../state/wind";
import { drawArrows, REFERENCE_LENGTH } from "./arrows";
import type { Camera } from "./camera";
import { inkOf } from "./lines";
import { Particles } from "./particles";
import { TrailLayer, type TrailInk } from "./trail_layer";
import { turned, type WindField } from "./wind_field";

/** Longest time between two moves of particles [s]: after a pause they do not jump. */
const LONGEST = 0.1;
const INKS: Record<"light" | "dark", TrailInk> = {
  light: { core: [0.09, 0.11, 0.15], casing: [1, 1, 1], strength: [0.75, 0.4] },
  dark: { core: [1, 1, 1], casing: [0.03, 0.05, 0.08], strength: [0.95, 0.55] },
};

/** The wind along the axes of a projected map, by the field that it comes from: particles request it in each frame. */
const rotated = new WeakMap<Float32Array, WindField>();

function field(): WindField | null {
  const { east, north } = mapWind.value ?? {};
  const map = grid.value;
  if (!east || !north || !map || east.length !== north.length || east.length !== map.rows * map.columns) return null;
  const places = geography.value?.places;
  if (!places) return { grid: map, east, north };
  const before = rotated.get(east);
  if (before?.grid === map) return before;
  const [right, up] = turned(east, north, places);
  const made = { grid: map, east: right, north: up };
  rotated.set(east, made);
  return made;
}

export function WindLayer({ camera }: { camera: { readonly value: Camera } }) {
  const arrows = useRef<HTMLCanvasElement>(null);
  const trails = useRef<HTMLCanvasElement>(null);
  useEffect(() => keepArrows(arrows.current!, camera), []);
  useEffect(() => animate(trails.current!, camera), []);
  return (
    <>
      <canvas ref={arrows} class="layer" aria-hidden="true" />
      <canvas ref={trails} class="layer trails" aria-hidden="true" />
    </>
  );
}

/** Draw arrows on each change. */
function keepArrows(canvas: HTMLCanvasElement, camera: { readonly value: Camera }): () => void {
  return effect(() => {
    const wind = drawnWind.value === "arrows" ? field() : null;
    void isDark.value; // colours are from the style sheet
    canvas.hidden = !wind;
    const pen = wind && canvas.getContext("2d");
    if (!pen) return;
    const density = resize(canvas, camera.value);
    pen.setTransform(density, 0, 0, density, 0, 0);
    drawArrows(pen, wind, camera.value, inkOf(canvas), REFERENCE_LENGTH / windReference.value);
  });
}

/** Move and draw particles in each frame of the screen. Returns a function that ends it. */
function animate(canvas: HTMLCanvasElement, camera: { readonly value: Camera }): () => void {
  let request = 0;
  let before: number | null = null;
  let particles = new Particles();
  let layer: TrailLayer | null | undefined;
  const draw = (now: number) => {
    request = 0;
    const wind = drawnWind.value === "particles" ? field() : null;
    layer ??= TrailLayer.on(canvas);
    if (!wind || !layer || document.hidden) {
      before = null;
      return;
    }
    const seconds = Math.min(before === null ? 0 : (now - before) / 1000, LONGEST);
    before = now;
    const seen = camera.value;
    particles.move(wind, seen, seconds);
    resize(canvas, seen);
    layer.draw(particles, seen, seconds, INKS[isDark.value ? "dark" : "light"]);
    canvas.dataset.count = String(particles.at.length);
    request = requestAnimationFrame(draw);
  };
  const begin = () => {
    if (!request) request = requestAnimationFrame(draw);
  };
  const stop = effect(() => {
    canvas.hidden = drawnWind.value !== "particles" || field() === null;
    if (canvas.hidden) {
      layer?.clear();
      particles = new Particles();
    } else begin();
  });
  document.addEventListener("visibilitychange", begin);
  return () => {
    stop();
    document.removeEventListener("visibilitychange", begin);
    cancelAnimationFrame(request);
  };
}

/** Fit a canvas to the map, which clears it if its size changes. Returns the pixels of the screen in a CSS pixel. */
function resize(canvas: HTMLCanvasElement, camera: Camera): number {
  const density = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(camera.width * density), Math.round(camera.height * density)];
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  return density;
}
