// The layers of a map, each drawn when its data change, at most once per frame of the screen.
import { effect } from "@preact/signals";
import { cellAt, positionOf, type Grid } from "../maths/grid";
import { HUES } from "../maths/hues";
import { density } from "../state/density";
import { mapEdges } from "../state/layout";
import { mixOf } from "../state/mixing";
import { colours, contourLevels, range, type Shown } from "../state/scale";
import { atHour } from "../state/stations";
import { overlay } from "../state/overlay";
import { cursor, geography, grid } from "../state/store";
import { isDark } from "../state/theme";
import { drawn, releaseAt, tool } from "../state/tools";
import { view } from "../state/view";
import { drawCities, drawEdge, drawLand, rectangleOf } from "./basemap";
import { boxOf, type Camera, type Rectangle } from "./camera";
import { drawContours } from "./contours";
import { FieldLayer } from "./field_layer";
import { drawGraticule, projected, straight } from "./graticule";
import * as lines from "./lines";
import { drawStations } from "./stations";

interface Signalled<T> {
  readonly value: T;
}

export interface Room {
  width: number;
  height: number;
}

/** Draw the field whenever it changes; the map element has the version that is on the screen. */
export function paint(
  canvas: HTMLCanvasElement, camera: Signalled<Camera>, shown: Signalled<Shown | null>, room: Signalled<Room>, broken: { value: boolean },
): () => void {
  const layer = FieldLayer.on(canvas);
  broken.value = !layer;
  return drawing(() => {
    const selected = shown.value;
    const map = grid.value;
    const { smooth } = view.value;
    const picture = selected && map && { grid: map, ...mixOf(selected), range: range.value, colours: colours.value, smooth };
    const { value: size } = room;
    const { value: seen } = camera;
    return () => {
      const part = picture && visiblePart(picture.grid, seen, size);
      canvas.hidden = !part;
      if (picture && part) {
        moveTo(canvas, part);
        layer?.draw(picture, boxOf(seen, part));
      }
      canvas.parentElement?.setAttribute("data-version", String(selected?.frame.header.version ?? ""));
    };
  });
}

/** Draw land and sea under the field, as far as the window reaches. */
export function paintBase(canvas: HTMLCanvasElement, camera: Signalled<Camera>, room: Signalled<Room>): () => void {
  return drawing(() => {
    const [size, seen, world] = [room.value, camera.value, geography.value];
    void isDark.value; // colours are from the style sheet
    return () => {
      const pen = penOn(canvas, size, world !== null);
      if (pen && world) drawLand(pen, world, seen, lines.inkOf(canvas));
    };
  });
}

/** Draw the graticule, coasts and borders over the field, and cities, which do not change with the field. */
export function paintWorld(canvas: HTMLCanvasElement, camera: Signalled<Camera>, room: Signalled<Room>): () => void {
  return drawing(() => {
    const { lines: withLines, cities, places } = view.value;
    const [size, seen, world, map, covered] = [room.value, camera.value, geography.value, grid.value, mapEdges.value];
    void isDark.value; // colours are from the style sheet
    return () => {
      const pen = penOn(canvas, size, world !== null && map !== null && (withLines || cities));
      if (!pen || !world || !map) return;
      const ink = lines.inkOf(canvas);
      if (withLines) {
        drawGraticule(pen, map.projected ? projected(world.graticule, seen) : straight(seen), seen, covered, ink);
        pen.save();
        pen.beginPath();
        pen.rect(...rectangleOf(map, seen));
        pen.clip();
        lines.drawGeography(pen, world.coast, world.borders, seen, ink);
        pen.restore();
        drawEdge(pen, map, seen, ink);
      }
      if (cities) drawCities(pen, [...world.cities, ...world.around].sort((one, other) => other.population - one.population), places, seen, covered, ink);
    };
  });
}

/** Draw contours, marked places, the line, the polygon in progress, and the cell under the cursor. */
export function paintAbove(
  canvas: HTMLCanvasElement, camera: Signalled<Camera>, shown: Signalled<Shown | null>, room: Signalled<Room>,
): () => void {
  return drawing(() => {
    const { places, line, contours, station } = view.value;
    const [size, seen, map, at, path, release, paths] = [room.value, camera.value, grid.value, cursor.value, drawn.value, releaseAt.value, tool.value];
    const world = geography.value;
    const field = contours && map ? shown.value : null;
    const levels = field && contourLevels.value;
    const target = overlay.value?.at ?? null;
    const dots = overlay.value ? (overlay.value.dots ?? []) : atHour.value;
    const [scale, table] = dots.length ? [range.value, colours.value] : [null, ""];
    void isDark.value; // colours are from the style sheet
    const cell = map && at && cellAt(map, at);
    const any = target !== null || field !== null || line !== null || path.length > 0 || cell !== null || places.length > 0 || release !== null || dots.length > 0;
    return () => {
      const pen = penOn(canvas, size, any);
      if (!pen) return;
      const ink = lines.inkOf(canvas);
      if (field && map && levels) drawContours(pen, field.values, map, levels, seen, ink);
      if (line) lines.drawSection(pen, line, seen, ink);
      if (scale) drawStations(pen, dots, scale, table, station, seen);
      if (path.length) lines.drawPath(pen, path, seen, ink, paths === "paint");
      if (map && cell) lines.drawCell(pen, map, cell.row, cell.column, seen, ink);
      lines.drawPlaces(pen, places, HUES, seen);
      const released = release && map && positionOf(map, world?.places ?? null, release);
      if (released) lines.drawPlace(pen, released, RELEASE, "", seen);
      const received = target && map && positionOf(map, world?.places ?? null, target);
      if (received) lines.drawTarget(pen, received, seen, ink);
    };
  });
}

const RELEASE = "#c8443c";

/** Run `prepare`, which reads the data, and draw once at the next frame of the screen; repeat when the data change. */
function drawing(prepare: () => () => void): () => void {
  let frame = 0;
  let draw: () => void = () => undefined;
  const stop = effect(() => {
    void density(); // a saved picture is drawn with more pixels
    draw = prepare();
    if (!frame) {
      frame = requestAnimationFrame(() => {
        frame = 0;
        draw();
      });
    }
  });
  return () => {
    stop();
    cancelAnimationFrame(frame);
  };
}

/** Return the part of the window that a field covers, in whole pixels; null where it is outside. */
export function visiblePart(grid: Grid, camera: Camera, { width, height }: Room): Rectangle | null {
  const [x, y, across, up] = rectangleOf(grid, camera);
  const [left, top] = [Math.max(Math.floor(x), 0), Math.max(Math.floor(y), 0)];
  const [right, bottom] = [Math.min(Math.floor(x) + Math.ceil(across) + 1, width), Math.min(Math.floor(y) + Math.ceil(up) + 1, height)];
  return right > left && bottom > top ? { left, top, width: right - left, height: bottom - top } : null;
}

/** Place a canvas on a part of the window: browsers compose no more than this part in each frame. */
function moveTo(canvas: HTMLCanvasElement, part: Rectangle): void {
  for (const side of ["left", "top", "width", "height"] as const) canvas.style[side] = `${part[side]}px`;
  fitTo(canvas, part);
}

function fitTo(canvas: HTMLCanvasElement, { width, height }: Room): void {
  const pixels = density();
  const [across, up] = [Math.round(width * pixels), Math.round(height * pixels)];
  if (canvas.width !== across || canvas.height !== up) Object.assign(canvas, { width: across, height: up });
}

/**
 * Return the drawing context of a canvas that is resized to the map and cleared, in CSS pixels. Without anything to draw
 * the canvas is hidden, because browsers compose all visible canvases in every frame.
 */
function penOn(canvas: HTMLCanvasElement, room: Room, any: boolean): CanvasRenderingContext2D | null {
  canvas.hidden = !any;
  if (!any) return null;
  fitTo(canvas, room);
  const pen = canvas.getContext("2d");
  const pixels = density();
  pen?.setTransform(pixels, 0, 0, pixels, 0, 0);
  pen?.clearRect(0, 0, room.width, room.height);
  return pen;
}
