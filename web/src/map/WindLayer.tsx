// Wind over the field: arrows or moving particles; arrows for users who prefer reduced motion.
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { geography, grid, latest } from "../state/store";
import { view, type Wind } from "../state/view";
import { drawArrows } from "./arrows";
import type { Camera } from "./camera";
import { inkOf } from "./lines";
import { Particles } from "./particles";
import { turned, type WindField } from "./wind_field";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");

/** The wind along the axes of a projected map, by the field that it comes from: particles request it in each frame. */
const rotated = new WeakMap<Float32Array, WindField>();

function field(): WindField | null {
  const [east, north] = [latest.value["wind:east"]?.values, latest.value["wind:north"]?.values];
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

const kind = (): Wind => (view.value.wind === "particles" && STILL.matches ? "arrows" : view.value.wind);

export function WindLayer({ camera }: { camera: { readonly value: Camera } }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => animate(canvas.current!, camera), []);
  return <canvas ref={canvas} class="layer" aria-hidden="true" />;
}

/** Draw on changes, and particles at each frame of the screen. Returns a function that ends the drawing. */
function animate(canvas: HTMLCanvasElement, camera: { readonly value: Camera }): () => void {
  let request = 0;
  let particles = new Particles();
  const again = () => (request = requestAnimationFrame(draw));
  const draw = () => {
    request = 0;
    const pen = canvas.getContext("2d");
    const wind = field();
    if (!pen || !wind || kind() === "none") return;
    if (kind() === "arrows") drawArrows(pen, wind, camera.value, inkOf(canvas));
    else {
      particles.draw(pen, wind, camera.value, inkOf(canvas).text);
      if (!document.hidden) again();
    }
  };
  const stop = effect(() => {
    canvas.hidden = field() === null || kind() === "none";
    if (canvas.hidden) return;
    const fresh = clear(canvas, camera.value, kind() !== "particles");
    if (fresh) particles = new Particles();
    if (!request) again();
  });
  const seen = () => !request && again();
  document.addEventListener("visibilitychange", seen);
  return () => {
    stop();
    document.removeEventListener("visibilitychange", seen);
    cancelAnimationFrame(request);
  };
}

const places = new WeakMap<HTMLCanvasElement, string>();

/** Resize and clear the canvas; trails of particles stay while the camera does not move. Returns whether it was cleared. */
function clear(canvas: HTMLCanvasElement, camera: Camera, always: boolean): boolean {
  const place = JSON.stringify(camera);
  if (!always && places.get(canvas) === place) return false;
  places.set(canvas, place);
  const density = window.devicePixelRatio || 1;
  canvas.width = Math.round(camera.width * density);
  canvas.height = Math.round(camera.height * density);
  canvas.getContext("2d")?.setTransform(density, 0, 0, density, 0, 0);
  return true;
}
