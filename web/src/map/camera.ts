// The part of the globe that a map shows: equidistant longitude and latitude with true proportions in the middle, or a
// projected map.
import type { Place } from "../maths/grid";

/** Centre [degrees], and CSS pixels per degree of latitude. */
export interface Camera {
  lon: number;
  lat: number;
  scale: number;
  width: number;
  height: number;
  /** Whether lengths are true in both directions. */
  flat?: boolean;
}

export interface Box {
  west: number;
  east: number;
  south: number;
  north: number;
}

/** Return the length of a unit of x relative to one of y. */
export const squeeze = ({ flat, lat }: { flat?: boolean | undefined; lat: number }): number =>
  flat ? 1 : Math.max(Math.cos((lat * Math.PI) / 180), 0.1);

/** Return a camera that shows a box as large as possible, with a margin [pixels]. */
export function fit(box: Box & { flat?: boolean }, width: number, height: number, margin: number): Camera {
  const lat = (box.south + box.north) / 2;
  const across = (box.east - box.west) * squeeze({ flat: box.flat, lat });
  const scale = Math.min((width - 2 * margin) / across, (height - 2 * margin) / (box.north - box.south));
  return { lon: (box.west + box.east) / 2, lat, scale: Math.max(scale, 0.1), width, height, ...(box.flat && { flat: true }) };
}

export function toPixel(camera: Camera, [lon, lat]: Place): [number, number] {
  return [
    camera.width / 2 + (lon - camera.lon) * squeeze(camera) * camera.scale,
    camera.height / 2 - (lat - camera.lat) * camera.scale,
  ];
}

export function toPlace(camera: Camera, x: number, y: number): Place {
  return [
    camera.lon + (x - camera.width / 2) / (squeeze(camera) * camera.scale),
    camera.lat - (y - camera.height / 2) / camera.scale,
  ];
}

/** Part of the window [CSS pixels]. */
export interface Rectangle {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Return the box that the window shows, or a part of it. */
export function boxOf(camera: Camera, part: Rectangle = { left: 0, top: 0, width: camera.width, height: camera.height }): Box {
  const [west, north] = toPlace(camera, part.left, part.top);
  const [east, south] = toPlace(camera, part.left + part.width, part.top + part.height);
  return { west, east, south, north };
}

/** Return the camera zoomed by a factor, with the place under a pixel fixed. */
export function zoomed(camera: Camera, factor: number, x: number, y: number): Camera {
  const fixed = toPlace(camera, x, y);
  const nearer = { ...camera, scale: Math.min(Math.max(camera.scale * factor, 1), 5000) };
  const higher = { ...nearer, lat: nearer.lat + fixed[1] - toPlace(nearer, x, y)[1] };
  return { ...higher, lon: higher.lon + fixed[0] - toPlace(higher, x, y)[0] }; // the scale of longitude depends on the new latitude
}

/** Return the camera moved by pixels. */
export function panned(camera: Camera, dx: number, dy: number): Camera {
  return {
    ...camera,
    lon: camera.lon - dx / (squeeze(camera) * camera.scale),
    lat: camera.flat ? camera.lat + dy / camera.scale : Math.min(Math.max(camera.lat + dy / camera.scale, -85), 85),
  };
}
