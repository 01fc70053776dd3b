// Stations on the map: dots in the colours of the field, grey without a value.
import type { Dot } from "../state/overlay";
import { colourAt } from "../maths/colours";
import { fraction, type Range } from "../maths/range";
import type { Place } from "../maths/grid";
import type { Reading } from "../state/stations";
import { toPixel, type Camera } from "./camera";

const TOUCH = 6;

/** Return the radius of dots [pixels]: larger in a closer view. */
export const radiusOf = (camera: Camera): number => Math.min(Math.max(2.2 + 0.75 * Math.log2(camera.scale), 4), 10);

/** Return the colour of a value, or grey without one. */
export function colourOf(value: number, range: Range, colours: string): string {
  if (!Number.isFinite(value)) return "#8b929c";
  return colourAt(colours, fraction(value, range));
}

/** Draw stations: a dark and a white ring contrast with every colour of the field. */
export function drawStations(
  pen: CanvasRenderingContext2D, readings: readonly Dot[], range: Range, colours: string, chosen: string | null, camera: Camera,
): void {
  const radius = radiusOf(camera);
  for (const { station, at, observed } of readings) {
    const [x, y] = toPixel(camera, at);
    if (x < -radius || y < -radius || x > camera.width + radius || y > camera.height + radius) continue;
    const size = station.id === chosen ? radius + 3 : radius;
    for (const [more, colour] of [[3, "#10151c"], [1.8, "#ffffff"], [0, colourOf(observed, range, colours)]] as const) {
      pen.beginPath();
      pen.arc(x, y, size + more, 0, 2 * Math.PI);
      pen.fillStyle = colour;
      pen.fill();
    }
  }
}

/** Return the station under a place of the map; null without one. */
export function stationAt(readings: readonly Reading[], place: Place, camera: Camera): string | null {
  const [x, y] = toPixel(camera, place);
  let [found, least]: [string | null, number] = [null, radiusOf(camera) + TOUCH];
  for (const { station, at } of readings) {
    const [across, up] = toPixel(camera, at);
    const away = Math.hypot(across - x, up - y);
    if (away < least) [found, least] = [station.id, away];
  }
  return found;
}
