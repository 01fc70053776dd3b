// Meridians and parallels: straight lines on longitude and latitude, curves from the server on projected maps.
import type { GraticuleLine } from "../protocol/types";
import type { Edges } from "../state/layout";
import { boxOf, squeeze, toPixel, type Camera } from "./camera";
import { label, type Ink } from "./lines";

const NONE: Edges = { top: 0, right: 0, bottom: 0 };
const STEPS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30];
/** Least distance between two lines [pixels]. */
const APART = 110;
/** Positions of labels: meridians at the lower edge, parallels at the left one [pixels]. */
const MARGIN = 8;
/** Space at the ends of these edges: corners, and the legend at the lower left [pixels]. */
const CLEAR = 30;
const LEGEND = 400;

export interface Curve {
  text: string;
  isMeridian: boolean;
  /** Screen pixels. */
  path: [x: number, y: number][];
}

/** Return an angle in words: "5° E", "0.5° N", "0°". */
export function degreesText(degrees: number, positive: string, negative: string): string {
  const size = Math.abs(Number(degrees.toFixed(4)));
  return `${size}°${size % 180 === 0 ? "" : ` ${degrees < 0 ? negative : positive}`}`;
}

const wrapped = (lon: number): number => ((((lon + 180) % 360) + 360) % 360) - 180;

function numbers(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.floor(to / step) - Math.ceil(from / step) + 1 }, (_, k) => (Math.ceil(from / step) + k) * step);
}

/** Return the lines of a map on longitude and latitude, at round degrees. */
export function straight(camera: Camera): Curve[] {
  const box = boxOf(camera);
  const stepFor = (scale: number) => STEPS.find((each) => each * scale >= APART) ?? 30;
  const { width, height } = camera;
  const meridians = numbers(box.west, box.east, stepFor(camera.scale * squeeze(camera))).map((lon): Curve => {
    const [x] = toPixel(camera, [lon, 0]);
    return { text: degreesText(wrapped(lon), "E", "W"), isMeridian: true, path: [[x, 0], [x, height]] };
  });
  const parallels = numbers(Math.max(box.south, -89), Math.min(box.north, 89), stepFor(camera.scale)).map((lat): Curve => {
    const [, y] = toPixel(camera, [0, lat]);
    return { text: degreesText(lat, "N", "S"), isMeridian: false, path: [[0, y], [width, y]] };
  });
  return [...meridians, ...parallels];
}

/** Return the lines of a projected map on the screen. */
export function projected(lines: readonly GraticuleLine[], camera: Camera): Curve[] {
  return lines.map(({ kind, degrees, points }) => ({
    text: kind === "meridian" ? degreesText(wrapped(degrees), "E", "W") : degreesText(degrees, "N", "S"),
    isMeridian: kind === "meridian",
    path: points.map((point) => toPixel(camera, point as [number, number])),
  }));
}

/** Return where a curve first crosses the edge of the screen with the labels of its kind, or null. */
export function crossing({ path, isMeridian }: Curve, camera: Camera, covered: Edges = NONE): [number, number] | null {
  const [width, height] = [camera.width - covered.right, camera.height - covered.bottom];
  const [along, edge, least, most] = isMeridian
    ? ([1, height - MARGIN, LEGEND, width] as const)
    : ([0, MARGIN, covered.top + CLEAR, height] as const);
  for (let k = 1; k < path.length; k++) {
    const [from, to] = [path[k - 1]!, path[k]!];
    const [a, b] = [from[along]! - edge, to[along]! - edge];
    if (a * b > 0 || a === b) continue;
    const other = from[1 - along]! + (a / (a - b)) * (to[1 - along]! - from[1 - along]!);
    if (other > least && other < most - CLEAR) return isMeridian ? [other, edge] : [edge, other];
  }
  return null;
}

export function drawGraticule(pen: CanvasRenderingContext2D, curves: readonly Curve[], camera: Camera, covered: Edges, ink: Ink): void {
  pen.setLineDash([]);
  pen.lineWidth = 1;
  pen.strokeStyle = ink.grid;
  pen.beginPath();
  for (const { path } of curves) path.forEach(([x, y], k) => (k ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.stroke();
  pen.font = "400 10.5px system-ui, sans-serif";
  pen.textBaseline = "middle";
  for (const curve of curves) {
    const at = crossing(curve, camera, covered);
    if (!at) continue;
    pen.textAlign = curve.isMeridian ? "center" : "start";
    label(pen, curve.text, at[0], at[1], { ...ink, text: ink.soft });
  }
  pen.textAlign = "start";
}
