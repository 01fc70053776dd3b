// The layers of a map, each drawn when what it shows has changed, at most once for each picture of the screen.
import { effect } from "@preact/signals";
import { cellAt } from "../maths/grid";
import { HUES } from "../maths/hues";
import { colours, range, type Shown } from "../state/scale";
import { cursor, geography, grid } from "../state/store";
import { isDark } from "../state/theme";
import { drawn, releaseAt, tool } from "../state/tools";
import { view } from "../state/view";
import type { Camera } from "./camera";
import { drawContours } from "./contours";
import { FieldLayer } from "./field_layer";
import * as lines from "./lines";

interface Signalled<T> {
  readonly value: T;
}

export interface Room {
  width: number;
  height: number;
}

/** Draw the field whenever it changes; its version stands at the map when it is on the screen. */
export function paint(
  canvas: HTMLCanvasElement, camera: Signalled<Camera>, shown: Signalled<Shown | null>, room: Signalled<Room>, broken: { value: boolean },
): () => void {
  const layer = FieldLayer.on(canvas);
  broken.value = !layer;
  return drawing(() => {
    const what = shown.value;
    const map = grid.value;
    const { smooth } = view.value;
    const picture = what && map && { grid: map, values: what.values, range: range.value, colours: colours.value, smooth };
    void isDark.value; // the ground's colour is that of the style sheet
    const { value: size } = room;
    const { value: seen } = camera;
    return () => {
      canvas.hidden = !picture;
      if (picture) {
        fitTo(canvas, size);
        layer?.draw({ ...picture, ground: lines.groundOf(canvas) }, seen);
      }
      canvas.parentElement?.setAttribute("data-version", String(what?.frame.header.version ?? ""));
    };
  });
}

/** Draw coasts, borders and cities, which stay while the field changes. */
export function paintWorld(canvas: HTMLCanvasElement, camera: Signalled<Camera>, room: Signalled<Room>): () => void {
  return drawing(() => {
    const { lines: withLines, cities, places } = view.value;
    const [size, seen, world] = [room.value, camera.value, geography.value];
    void isDark.value; // colours are those of the style sheet
    return () => {
      const pen = penOn(canvas, size, world !== null && (withLines || cities));
      if (!pen) return;
      const ink = lines.inkOf(canvas);
      if (world && withLines) lines.drawGeography(pen, world.coast, world.borders, seen, ink);
      if (world && cities) lines.drawCities(pen, world.cities, places, seen, ink);
    };
  });
}

/** Draw contours, marked places, the line, what is being drawn, and the cell under the cursor. */
export function paintAbove(
  canvas: HTMLCanvasElement, camera: Signalled<Camera>, shown: Signalled<Shown | null>, room: Signalled<Room>,
): () => void {
  return drawing(() => {
    const { places, line, contours } = view.value;
    const [size, seen, map, at, path, release, paths] = [room.value, camera.value, grid.value, cursor.value, drawn.value, releaseAt.value, tool.value];
    const field = contours && map ? shown.value : null;
    const scale = field && range.value;
    void isDark.value; // colours are those of the style sheet
    const cell = map && at && cellAt(map, at);
    const any = field !== null || line !== null || path.length > 0 || cell !== null || places.length > 0 || release !== null;
    return () => {
      const pen = penOn(canvas, size, any);
      if (!pen) return;
      const ink = lines.inkOf(canvas);
      if (field && map && scale) drawContours(pen, field.values, map, scale, seen, ink);
      if (line) lines.drawPath(pen, line, seen, ink);
      if (path.length) lines.drawPath(pen, path, seen, ink, paths === "paint");
      if (map && cell) lines.drawCell(pen, map, cell.row, cell.column, seen, ink);
      lines.drawPlaces(pen, places, HUES, seen);
      if (release) lines.drawPlace(pen, release, RELEASE, "", seen);
    };
  });
}

const RELEASE = "#c8443c";

/** Let `prepare` read what it draws, and draw at the next picture of the screen, once; again when that changes. */
function drawing(prepare: () => () => void): () => void {
  let asked = 0;
  let draw: () => void = () => undefined;
  const stop = effect(() => {
    draw = prepare();
    if (!asked) {
      asked = requestAnimationFrame(() => {
        asked = 0;
        draw();
      });
    }
  });
  return () => {
    stop();
    cancelAnimationFrame(asked);
  };
}

function fitTo(canvas: HTMLCanvasElement, { width, height }: Room): void {
  const density = window.devicePixelRatio || 1;
  const [across, up] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== across || canvas.height !== up) Object.assign(canvas, { width: across, height: up });
}

/**
 * Return the pen of a canvas that is as large as the map, and empty; in pixels of the page. Where there is nothing to
 * draw, the canvas is hidden: browsers put each one that is not on top of the others for every picture.
 */
function penOn(canvas: HTMLCanvasElement, room: Room, any: boolean): CanvasRenderingContext2D | null {
  canvas.hidden = !any;
  if (!any) return null;
  fitTo(canvas, room);
  const pen = canvas.getContext("2d");
  const density = window.devicePixelRatio || 1;
  pen?.setTransform(density, 0, 0, density, 0, 0);
  pen?.clearRect(0, 0, room.width, room.height);
  return pen;
}
