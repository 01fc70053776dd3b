// Contour lines at the ticks of the scale, with labels.
import { contours } from "d3-contour";
import { number } from "../maths/format";
import type { Grid } from "../maths/grid";
import { ticks, type Range } from "../maths/range";
import { toPixel, type Camera } from "./camera";
import { label, overlap, type Ink } from "./lines";

interface Contour {
  value: number;
  /** Screen pixels. */
  path: [x: number, y: number][];
}

const COUNT = 8;
/** Least length of a labelled line, and least distance between labels [pixels]. */
const LABELLED = 90;
const CLEAR = 4;

export function drawContours(
  pen: CanvasRenderingContext2D, values: Float32Array, grid: Grid, range: Range, camera: Camera, ink: Ink,
): void {
  const all = contoursOf(values, grid, range, camera);
  pen.setLineDash([]);
  pen.lineJoin = "round";
  for (const [width, colour] of [[2.4, ink.halo], [0.9, ink.line]] as const) {
    pen.lineWidth = width;
    pen.strokeStyle = colour;
    pen.beginPath();
    for (const { path } of all) path.forEach(([x, y], k) => (k ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.stroke();
  }
  drawLabels(pen, all, camera, ink);
}

/** Return the lines inside the map; lines along its edge and along missing values only close areas, and are left out. */
export function contoursOf(values: Float32Array, grid: Grid, range: Range, camera: Camera): Contour[] {
  const made = contours().size([grid.columns, grid.rows]).thresholds(ticks(range, COUNT))(Array.from(values));
  const width = (grid.east - grid.west) / grid.columns;
  const height = (grid.north - grid.south) / grid.rows;
  const within = (x: number, y: number) => x > 0.5 && y > 0.5 && x < grid.columns - 0.5 && y < grid.rows - 0.5;
  const known = (x: number, y: number) => Number.isFinite(values[Math.floor(y) * grid.columns + Math.floor(x)]);
  // A line runs between the centres of two cells; where one of them is missing, it runs through the centre of the other.
  const central = (x: number, y: number) => x % 1 === 0.5 && y % 1 === 0.5;
  const beside = (x: number, y: number) => known(x - 1, y) && known(x + 1, y) && known(x, y - 1) && known(x, y + 1);
  const inside = ([x = 0, y = 0]: number[]) => within(x, y) && (!central(x, y) || beside(x, y));
  return made.flatMap(({ value, coordinates }) =>
    coordinates.flat().flatMap((ring) => stretches(ring, inside)).map((stretch) => ({
      value,
      path: stretch.map(([x = 0, y = 0]) => toPixel(camera, [grid.west + x * width, grid.south + y * height])),
    })),
  );
}

/** Return the parts of a ring whose points are all inside. */
function stretches(ring: number[][], inside: (point: number[]) => boolean): number[][][] {
  const found: number[][][] = [[]];
  for (const point of ring) {
    if (inside(point)) found.at(-1)?.push(point);
    else if (found.at(-1)?.length) found.push([]);
  }
  return found.filter((each) => each.length > 1);
}

/** Label the longest lines first, in the middle of each, where no other label is. */
function drawLabels(pen: CanvasRenderingContext2D, all: Contour[], camera: Camera, ink: Ink): void {
  pen.font = "600 10.5px system-ui, sans-serif";
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  const taken: [number, number, number, number][] = [];
  const long = all.map((each) => ({ ...each, length: lengthOf(each.path) })).filter((each) => each.length > LABELLED);
  for (const { value, path } of long.sort((a, b) => b.length - a.length)) {
    const [x, y] = path[Math.floor(path.length / 2)] ?? [0, 0];
    const text = number(value);
    const half = pen.measureText(text).width / 2 + CLEAR;
    const place: [number, number, number, number] = [x - half, y - 6 - CLEAR, x + half, y + 6 + CLEAR];
    const seen = place[0] > 0 && place[1] > 0 && place[2] < camera.width && place[3] < camera.height;
    if (!seen || taken.some((other) => overlap(place, other))) continue;
    taken.push(place);
    label(pen, text, x, y, ink);
  }
  pen.textAlign = "start";
}

function lengthOf(path: Contour["path"]): number {
  return path.slice(1).reduce((sum, [x, y], k) => sum + Math.hypot(x - (path[k]?.[0] ?? x), y - (path[k]?.[1] ?? y)), 0);
}
