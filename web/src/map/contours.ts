// Contour lines at round values and at limit values, with labels along the lines.
import { contours } from "d3-contour";
import type { Grid } from "../maths/grid";
import type { ContourLevel } from "../maths/range";
import { toPixel, type Camera } from "./camera";
import { label, overlap, type Ink } from "./lines";

interface Contour {
  level: ContourLevel;
  /** Screen pixels. */
  path: [x: number, y: number][];
}

/** Least length of a labelled line, distance between labels of a line, and least distance between labels [pixels]. */
const LABELLED = 130;
const REPEATED = 700;
const CLEAR = 4;
const MOST_LABELS = 20;

export function drawContours(
  pen: CanvasRenderingContext2D, values: Float32Array, grid: Grid, levels: ContourLevel[], camera: Camera, ink: Ink,
): void {
  const all = contoursOf(values, grid, levels, camera);
  pen.lineJoin = "round";
  for (const limit of [false, true]) {
    for (const [width, colour] of [[limit ? 4 : 2.4, ink.halo], [limit ? 2.2 : 0.9, ink.line]] as const) {
      pen.lineWidth = width;
      pen.strokeStyle = colour;
      for (const below of [false, true]) { // less than nothing, as in a difference, is dashed
        pen.setLineDash(below && colour === ink.line ? [5, 4] : []);
        pen.beginPath();
        for (const { level, path } of all) if (level.limit === limit && level.value < 0 === below) path.forEach(([x, y], k) => (k ? pen.lineTo(x, y) : pen.moveTo(x, y)));
        pen.stroke();
      }
    }
  }
  pen.setLineDash([]);
  drawLabels(pen, all, camera, ink);
}

/** Return the lines inside the map; lines along its edge and along missing values only close areas, and are left out. */
export function contoursOf(values: Float32Array, grid: Grid, levels: ContourLevel[], camera: Camera): Contour[] {
  const made = contours().size([grid.columns, grid.rows]).thresholds(levels.map((each) => each.value))(Array.from(values));
  const width = (grid.east - grid.west) / grid.columns;
  const height = (grid.north - grid.south) / grid.rows;
  const within = (x: number, y: number) => x > 0.5 && y > 0.5 && x < grid.columns - 0.5 && y < grid.rows - 0.5;
  const known = (x: number, y: number) => Number.isFinite(values[Math.floor(y) * grid.columns + Math.floor(x)]);
  // A line runs between the centres of two cells; where one of them is missing, it runs through the centre of the other.
  const central = (x: number, y: number) => x % 1 === 0.5 && y % 1 === 0.5;
  const beside = (x: number, y: number) => known(x - 1, y) && known(x + 1, y) && known(x, y - 1) && known(x, y + 1);
  const inside = ([x = 0, y = 0]: number[]) => within(x, y) && (!central(x, y) || beside(x, y));
  return made.flatMap(({ coordinates }, k) =>
    coordinates.flat().flatMap((ring) => stretches(ring, inside)).map((stretch) => ({
      level: levels[k]!,
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

/** Label the longest lines first, along each at its straightest part, where no other label is. */
function drawLabels(pen: CanvasRenderingContext2D, all: Contour[], camera: Camera, ink: Ink): void {
  pen.textBaseline = "middle";
  pen.textAlign = "center";
  const taken: [number, number, number, number][] = [];
  const long = all.map((each) => ({ ...each, length: lengthOf(each.path) })).filter((each) => each.length > LABELLED);
  long.sort((a, b) => Number(b.level.limit) - Number(a.level.limit) || b.length - a.length);
  for (const { level, path, length } of long) {
    pen.font = `${level.limit ? 700 : 600} 10.5px system-ui, sans-serif`;
    const half = pen.measureText(level.text).width / 2;
    let left = Math.ceil(length / REPEATED);
    for (const { x, y, angle } of spotsOf(path, half)) {
      if (!left || taken.length >= MOST_LABELS) break;
      const [across, up] = [Math.abs(Math.cos(angle)) * half + 6 + CLEAR, Math.abs(Math.sin(angle)) * half + 6 + CLEAR];
      const place: [number, number, number, number] = [x - across, y - up, x + across, y + up];
      const seen = place[0] > 0 && place[1] > 0 && place[2] < camera.width && place[3] < camera.height;
      if (!seen || taken.some((other) => overlap(place, other))) continue;
      taken.push(place);
      left -= 1;
      pen.save();
      pen.translate(x, y);
      pen.rotate(angle);
      label(pen, level.text, 0, 0, ink);
      pen.restore();
    }
  }
  pen.textAlign = "start";
}

interface Spot {
  x: number;
  y: number;
  /** Direction of the line, so that a text is not upside down. */
  angle: number;
}

/** Return places of a label along a line, the straightest first. */
function spotsOf(path: Contour["path"], half: number): Spot[] {
  const found: (Spot & { bend: number })[] = [];
  const step = Math.max(1, Math.floor(path.length / 40));
  for (let k = step; k < path.length - 1; k += step) {
    const [x, y] = path[k]!;
    const [before, after] = [reach(path, k, -1, half), reach(path, k, 1, half)];
    if (!before || !after) continue;
    const chord = Math.hypot(after[0] - before[0], after[1] - before[1]);
    const angle = Math.atan2(after[1] - before[1], after[0] - before[0]);
    const upright = angle > Math.PI / 2 ? angle - Math.PI : angle < -Math.PI / 2 ? angle + Math.PI : angle;
    found.push({ x, y, angle: upright, bend: Math.round(4 * (1 - chord / (2 * half))) });
  }
  const middle = path.length / 2;
  return found.map((each, k) => ({ ...each, away: Math.abs((k + 1) * step - middle) })).sort((a, b) => a.bend - b.bend || a.away - b.away);
}

/** Return the first point of a line at a distance from one of its points, forwards or backwards; null at its end. */
function reach(path: Contour["path"], from: number, way: 1 | -1, distance: number): [number, number] | null {
  const [x, y] = path[from]!;
  for (let k = from + way; k >= 0 && k < path.length; k += way) if (Math.hypot(path[k]![0] - x, path[k]![1] - y) >= distance) return path[k]!;
  return null;
}

function lengthOf(path: Contour["path"]): number {
  return path.slice(1).reduce((sum, [x, y], k) => sum + Math.hypot(x - (path[k]?.[0] ?? x), y - (path[k]?.[1] ?? y)), 0);
}
