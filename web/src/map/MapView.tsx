// A map of one session: the field on the GPU, lines above it, and what a pointer or the keyboard does on it.
import { effect, useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { cellAt, centreOf, placeText, valueAt, type Place } from "../maths/grid";
import { number } from "../maths/format";
import { HUES } from "../maths/hues";
import { colours, comparing, difference, fields, range, unit, type Shown } from "../state/scale";
import { cursor, geography, grid, infos } from "../state/store";
import { clickAt, drawn, releaseAt, tool } from "../state/tools";
import { look, view } from "../state/view";
import { boxOf, fit, panned, toPlace, zoomed, type Camera } from "./camera";
import { FieldLayer } from "./field_layer";
import * as lines from "./lines";
import { useGestures } from "./gestures";
import { WindLayer } from "./WindLayer";

const MARGIN = 12;
/** What the colour scale covers at the lower left, and the value under the cursor at the top [pixels]. */
const LEGEND = { width: 384, height: 96 };
const TOP = 46;

/** Return the camera that was chosen, or one that shows the whole map clear of the legend: above it or beside it. */
function cameraFor(width: number, height: number): Camera {
  const map = grid.value ?? { west: -180, east: 180, south: -90, north: 90 };
  const chosen = view.value.camera;
  if (chosen) return { lon: chosen[0], lat: chosen[1], scale: chosen[2], width, height };
  const above = fit(map, width, height - LEGEND.height - TOP, MARGIN);
  const beside = fit(map, width - LEGEND.width, height, MARGIN);
  return beside.scale > above.scale
    ? { ...panned({ ...beside, width, height }, LEGEND.width / 2, 0), lat: beside.lat }
    : { ...panned({ ...above, width, height }, 0, (TOP - LEGEND.height) / 2) };
}

export function setCamera(camera: Camera | null): void {
  const short = (value: number) => Number(value.toPrecision(7));
  look({ camera: camera && [short(camera.lon), short(camera.lat), short(camera.scale)] });
}

export function MapView({ session }: { session: string }) {
  const frame = useRef<HTMLDivElement>(null);
  const ground = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const room = useSignal({ width: 0, height: 0 });
  const broken = useSignal(false);
  const camera = useComputed(() => cameraFor(room.value.width, room.value.height));
  const shown = useComputed<Shown | null>(() =>
    comparing.value ? difference.value : (fields.value.find((each) => each.session === session) ?? null),
  );

  useEffect(() => {
    const element = frame.current!;
    const watch = new ResizeObserver(() => {
      room.value = { width: element.clientWidth, height: element.clientHeight };
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  useEffect(() => paint(ground.current!, above.current!, camera, shown, room, broken), []);
  useGestures(frame, camera, {
    move: setCamera,
    hover: (place) => (cursor.value = place),
    click: clickAt,
    key: (key) => onKey(key, camera.value),
  });

  const box = boxOf(camera.value);
  const edge = [box.west, box.south, box.east, box.north].map((each) => each.toFixed(6)).join(",");
  return (
    <div
      ref={frame} class="map" tabIndex={0} data-session={session} data-box={edge} data-tool={tool.value} role="application"
      aria-label={`Map of ${infos.value[session]?.state.title ?? session}. Arrow keys move from cell to cell, Enter marks a place.`}
    >
      <canvas ref={ground} class="layer" aria-hidden="true" />
      <WindLayer camera={camera} />
      <canvas ref={above} class="layer" aria-hidden="true" />
      {broken.value && <p class="blank">This browser draws no WebGL2, which the map needs. Another browser, or its settings for graphics, may.</p>}
      {!broken.value && !shown.value && <p class="blank" role="status">{waitingFor(session)}</p>}
    </div>
  );
}

function waitingFor(session: string): string {
  const [one, other] = fields.value;
  if (comparing.value && one && other) {
    return `A difference is shown where both are at the same time: they are at ${one.frame.header.time.slice(0, 16)} and ${other.frame.header.time.slice(0, 16)}. Step the earlier one.`;
  }
  return infos.value[session] ? "Waiting for the field …" : "Waiting for the model …";
}

interface Signalled<T> {
  readonly value: T;
}

/** Draw whenever something that is shown changes; at most once for each picture of the screen. */
function paint(
  ground: HTMLCanvasElement, above: HTMLCanvasElement, camera: Signalled<Camera>, shown: Signalled<Shown | null>,
  room: Signalled<{ width: number; height: number }>, broken: { value: boolean },
): () => void {
  const layer = FieldLayer.on(ground);
  broken.value = !layer;
  let asked = 0;
  const draw = () => {
    asked = 0;
    const density = window.devicePixelRatio || 1;
    for (const canvas of [ground, above]) fitTo(canvas, room.value, density);
    const what = shown.value;
    const map = grid.value;
    const { smooth } = view.value;
    layer?.draw(what && map ? { grid: map, values: what.values, range: range.value, colours: colours.value, smooth } : null, camera.value);
    drawAbove(above, camera.value, what, density);
    above.parentElement?.setAttribute("data-version", String(what?.frame.header.version ?? ""));
  };
  const stop = effect(() => {
    void [camera.value, shown.value, grid.value, range.value, colours.value, view.value, geography.value, cursor.value, drawn.value,
      releaseAt.value, room.value];
    if (!asked) asked = requestAnimationFrame(draw);
  });
  return () => {
    stop();
    cancelAnimationFrame(asked);
  };
}

function fitTo(canvas: HTMLCanvasElement, { width, height }: { width: number; height: number }, density: number): void {
  const [across, up] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== across || canvas.height !== up) Object.assign(canvas, { width: across, height: up });
}

function drawAbove(canvas: HTMLCanvasElement, camera: Camera, shown: Shown | null, density: number): void {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const ink = lines.inkOf(canvas);
  const { places, line, lines: withLines, cities, contours } = view.value;
  const map = grid.value;
  pen.setTransform(density, 0, 0, density, 0, 0);
  pen.clearRect(0, 0, camera.width, camera.height);
  if (contours && shown && map) lines.drawContours(pen, shown.values, map, range.value, camera, ink);
  const world = geography.value;
  if (world && withLines) lines.drawGeography(pen, world.coast, world.borders, camera, ink);
  if (world && cities) lines.drawCities(pen, world.cities, camera, ink);
  if (line) lines.drawPath(pen, line, camera, ink);
  if (drawn.value.length) lines.drawPath(pen, drawn.value, camera, ink, tool.value === "paint");
  const cell = map && cursor.value && cellAt(map, cursor.value);
  if (map && cell) lines.drawCell(pen, map, cell.row, cell.column, camera, ink);
  lines.drawPlaces(pen, places, HUES, camera, ink);
  if (releaseAt.value) lines.drawPlaces(pen, [releaseAt.value], ["#c8443c"], camera, ink);
}

const MOVES: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
};

/** Move the cursor by cells, mark places, zoom; returns whether the key meant something. */
function onKey(key: string, camera: Camera): boolean {
  const map = grid.value;
  const move = MOVES[key];
  if (move && map) {
    const start = (cursor.value && cellAt(map, cursor.value)) ?? cellAt(map, toPlace(camera, camera.width / 2, camera.height / 2));
    const { row, column } = start ?? { row: Math.floor(map.rows / 2), column: Math.floor(map.columns / 2) };
    cursor.value = centreOf(map, { row: bounded(row + move[1], map.rows), column: bounded(column + move[0], map.columns) });
    return true;
  }
  if (key === "Enter" && cursor.value) clickAt(cursor.value);
  else if (key === "+" || key === "=") setCamera(zoomed(camera, 1.4, camera.width / 2, camera.height / 2));
  else if (key === "-") setCamera(zoomed(camera, 1 / 1.4, camera.width / 2, camera.height / 2));
  else if (key === "0") setCamera(null);
  else return false;
  return true;
}

const bounded = (index: number, count: number): number => Math.min(Math.max(index, 0), count - 1);

/** What is under the cursor: the value with its unit, and where that is. */
export function Readout() {
  const map = grid.value;
  const at: Place | null = cursor.value;
  const cell = map && at && cellAt(map, at);
  const found = comparing.value ? [difference.value] : fields.value;
  if (!map || !at || !cell) return <div class="readout idle">Point at the map</div>;
  return (
    <div class="readout" role="status" data-row={cell.row} data-column={cell.column}>
      {found.map((each) => each && (
        <strong key={each.session}>{number(valueAt(each.values, map, cell), 4)} <small>{unit.value?.label}</small></strong>
      ))}
      <span>{placeText(centreOf(map, cell))}</span>
    </div>
  );
}

