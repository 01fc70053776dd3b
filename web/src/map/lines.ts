// Lines and labels over the field: coasts, borders, places.
import type { Grid, Place } from "../maths/grid";
import { toPixel, type Camera } from "./camera";

/** Colours of a theme, from its style sheet. */
export interface Ink {
  line: string;
  halo: string;
  text: string;
  accent: string;
  land: string;
  shore: string;
  grid: string;
  soft: string;
}

export function inkOf(element: HTMLElement): Ink {
  const style = getComputedStyle(element);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    line: read("--map-line"), halo: read("--map-halo"), text: read("--map-text"), accent: read("--accent"), land: read("--map-land"),
    shore: read("--map-shore"), grid: read("--map-grid"), soft: read("--soft"),
  };
}

/** Draw lines of positions on the map, with NaN between them. */
export function drawLines(pen: CanvasRenderingContext2D, points: Float32Array, camera: Camera): void {
  traceLines(pen, points, camera);
  pen.stroke();
}

/** Make lines of positions on the map the present path. */
export function traceLines(pen: CanvasRenderingContext2D, points: Float32Array, camera: Camera): void {
  pen.beginPath();
  let drawing = false;
  for (let k = 0; k + 1 < points.length; k += 2) {
    const lon = points[k] ?? NaN;
    if (Number.isNaN(lon)) {
      drawing = false;
      continue;
    }
    const [x, y] = toPixel(camera, [lon, points[k + 1] ?? NaN]);
    if (drawing) pen.lineTo(x, y);
    else pen.moveTo(x, y);
    drawing = true;
  }
}

export function drawGeography(
  pen: CanvasRenderingContext2D, coast: Float32Array, borders: Float32Array, camera: Camera, ink: Ink,
): void {
  pen.lineJoin = "round";
  for (const [points, dash] of [[borders, [4, 3]], [coast, []]] as const) {
    for (const [width, colour] of [[2.6, ink.halo], [1, ink.line]] as const) {
      pen.setLineDash(colour === ink.line ? [...dash] : []);
      pen.lineWidth = width;
      pen.strokeStyle = colour;
      drawLines(pen, points, camera);
    }
  }
}

/** The radius of a marked place [pixels]. */
const PLACE = 7;

export function overlap(a: readonly number[], b: readonly number[]): boolean {
  return a[0]! < b[2]! && b[0]! < a[2]! && a[1]! < b[3]! && b[1]! < a[3]!;
}

export function dot(pen: CanvasRenderingContext2D, x: number, y: number, radius: number, ink: Ink): void {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fillStyle = ink.text;
  pen.strokeStyle = ink.halo;
  pen.lineWidth = 2;
  pen.stroke();
  pen.fill();
}

export function label(pen: CanvasRenderingContext2D, text: string, x: number, y: number, ink: Ink): void {
  pen.lineWidth = 3;
  pen.lineJoin = "round";
  pen.strokeStyle = ink.halo;
  pen.fillStyle = ink.text;
  pen.strokeText(text, x, y);
  pen.fillText(text, x, y);
}

/** Draw places, each in the colour of its series with its number inside, so that no city name is covered. */
export function drawPlaces(pen: CanvasRenderingContext2D, places: Place[], hues: string[], camera: Camera): void {
  places.forEach((place, k) => drawPlace(pen, place, hues[k % hues.length] ?? "", String(k + 1), camera));
}

/** Draw a ring with a cross around the location of a concentration. */
export function drawTarget(pen: CanvasRenderingContext2D, place: Place, camera: Camera, ink: Ink): void {
  const [x, y] = toPixel(camera, place);
  pen.setLineDash([]);
  for (const [width, colour] of [[4, ink.halo], [1.6, ink.text]] as const) {
    pen.lineWidth = width;
    pen.strokeStyle = colour;
    pen.beginPath();
    pen.arc(x, y, PLACE, 0, 2 * Math.PI);
    for (const [across, up] of [[1, 0], [-1, 0], [0, 1], [0, -1]] as const) {
      pen.moveTo(x + across * PLACE, y + up * PLACE);
      pen.lineTo(x + across * 1.9 * PLACE, y + up * 1.9 * PLACE);
    }
    pen.stroke();
  }
}

export function drawPlace(pen: CanvasRenderingContext2D, place: Place, hue: string, text: string, camera: Camera): void {
  const [x, y] = toPixel(camera, place);
  pen.beginPath();
  pen.arc(x, y, PLACE, 0, 2 * Math.PI);
  pen.fillStyle = hue;
  pen.strokeStyle = "#fff";
  pen.lineWidth = 2;
  pen.fill();
  pen.stroke();
  pen.font = "700 10px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillStyle = "#fff";
  pen.fillText(text, x, y + 0.5);
  pen.textAlign = "start";
}

export function drawPath(pen: CanvasRenderingContext2D, path: Place[], camera: Camera, ink: Ink, closed = false): void {
  pen.beginPath();
  path.forEach((place, k) => {
    const [x, y] = toPixel(camera, place);
    if (k) pen.lineTo(x, y);
    else pen.moveTo(x, y);
  });
  if (closed) pen.closePath();
  for (const [width, colour] of [[5, ink.halo], [2, ink.accent]] as const) {
    pen.lineWidth = width;
    pen.strokeStyle = colour;
    pen.stroke();
  }
}

const END = "#1f5f9c";

/** Draw the line of the cross-section, with its ends A and B. */
export function drawSection(pen: CanvasRenderingContext2D, line: [Place, Place], camera: Camera, ink: Ink): void {
  drawPath(pen, line, camera, ink);
  line.forEach((end, k) => drawPlace(pen, end, END, "AB"[k] ?? "", camera));
}

/** Mark the cell under the cursor. */
export function drawCell(pen: CanvasRenderingContext2D, grid: Grid, row: number, column: number, camera: Camera, ink: Ink): void {
  const width = (grid.east - grid.west) / grid.columns;
  const height = (grid.north - grid.south) / grid.rows;
  const [x, y] = toPixel(camera, [grid.west + column * width, grid.south + (row + 1) * height]);
  const [right, bottom] = toPixel(camera, [grid.west + (column + 1) * width, grid.south + row * height]);
  for (const [thick, colour] of [[3, ink.halo], [1.2, ink.text]] as const) {
    pen.lineWidth = thick;
    pen.strokeStyle = colour;
    pen.strokeRect(x, y, right - x, bottom - y);
  }
}
