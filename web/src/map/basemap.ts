// Land and sea around and under the field, and names of cities over it.
import type { Grid, Place } from "../maths/grid";
import type { City } from "../protocol/types";
import type { Edges } from "../state/layout";
import { boxOf, toPixel, type Camera } from "./camera";
import { dot, drawLines, label, overlap, traceLines, type Ink } from "./lines";

/** Fill the land, and draw coasts and borders faintly. */
export function drawLand(
  pen: CanvasRenderingContext2D, world: { land: Float32Array; coast: Float32Array; borders: Float32Array }, camera: Camera, ink: Ink,
): void {
  traceLines(pen, world.land, camera);
  pen.fillStyle = ink.land;
  pen.fill("evenodd");
  pen.lineJoin = "round";
  pen.lineWidth = 1;
  pen.strokeStyle = ink.shore;
  pen.setLineDash([]);
  drawLines(pen, world.coast, camera);
  pen.setLineDash([3, 3]);
  drawLines(pen, world.borders, camera);
  pen.setLineDash([]);
}

/** Return the rectangle of the field on the screen: left, top, width, height. */
export function rectangleOf(grid: Grid, camera: Camera): [number, number, number, number] {
  const [left, top] = toPixel(camera, [grid.west, grid.north]);
  const [right, bottom] = toPixel(camera, [grid.east, grid.south]);
  return [left, top, right - left, bottom - top];
}

/** Draw the edge of the area of the model. */
export function drawEdge(pen: CanvasRenderingContext2D, grid: Grid, camera: Camera, ink: Ink): void {
  pen.setLineDash([]);
  pen.lineWidth = 1;
  pen.strokeStyle = ink.soft;
  pen.strokeRect(...rectangleOf(grid, camera));
}

/** Fonts of cities by their population. */
const FONTS: [least: number, font: string, dot: number][] = [
  [1e6, "600 12.5px system-ui, sans-serif", 2.8], [3e5, "500 11.5px system-ui, sans-serif", 2.2], [0, "400 10.5px system-ui, sans-serif", 1.8],
];
/** Area of the map for each name [square pixels], and space around a name [pixels]. */
const AREA = 26000;
const SPACE = 7;
/** The radius of a marked place [pixels]. */
const PLACE = 7;

/** Name the largest cities where there is space, clear of each other and of marked places. */
export function drawCities(
  pen: CanvasRenderingContext2D, cities: readonly City[], places: readonly Place[], camera: Camera, covered: Edges, ink: Ink,
): void {
  const [width, height] = [camera.width - covered.right, camera.height - covered.bottom];
  const box = boxOf(camera, { left: 0, top: covered.top, width, height: height - covered.top });
  const most = Math.max(Math.floor((width * (height - covered.top)) / AREA), 6);
  const marks = places.map((each) => toPixel(camera, each));
  const taken: [number, number, number, number][] = [];
  pen.textBaseline = "middle";
  for (const city of cities) {
    if (taken.length >= most) return;
    if (city.x < box.west || city.x > box.east || city.y < box.south || city.y > box.north) continue;
    const [x, y] = toPixel(camera, [city.x, city.y]);
    const marked = marks.some((each) => Math.hypot(each[0] - x, each[1] - y) < 2 * PLACE);
    const [, font, radius] = FONTS.find(([least]) => city.population >= least)!;
    pen.font = font;
    const begin = x + (marked ? 2 * PLACE : PLACE - 1);
    const place: [number, number, number, number] = [x - SPACE, y - 7 - SPACE / 2, begin + pen.measureText(city.name).width + SPACE, y + 7 + SPACE / 2];
    if (place[2] > width || taken.some((other) => overlap(place, other))) continue;
    taken.push(place);
    dot(pen, x, y, radius, ink);
    label(pen, city.name, begin, y, ink);
  }
}
