// Particles that move with the wind over the map.
import type { Place } from "../maths/grid";
import { boxOf, squeeze, type Camera } from "./camera";
import { windAt, type WindField } from "./wind_field";

/** Pixels per second of a particle in a wind of 1 m/s, at every zoom. */
export const PACE = 8;
/** Screen area of a particle [pixels²]. */
const AREA = 480;
/** Greatest number of particles. */
export const MOST = 6000;
/** Longest life of a particle [s]. */
const LIFE = 4;

export class Particles {
  /** Positions on the map, and those at the start of the present segment of the trail. */
  readonly at: Place[] = [];
  readonly from: Place[] = [];
  private readonly left: number[] = [];

  /** Move all particles by some seconds of the screen's time. */
  move(field: WindField, camera: Camera, seconds: number): void {
    const box = common(field, camera);
    const visible = box ? (box.east - box.west) * squeeze(camera) * (box.north - box.south) * camera.scale ** 2 : 0;
    const count = Math.min(Math.round(visible / AREA), MOST);
    for (const list of [this.at, this.from, this.left]) list.length = Math.min(list.length, count);
    for (let k = 0; k < count; k++) {
      const place = this.at[k];
      const wind = place && (this.left[k] ?? 0) > 0 ? windAt(field, place) : null;
      if (wind && place) {
        const step = (PACE * seconds) / camera.scale;
        this.at[k] = [place[0] + (wind[0] * step) / squeeze({ flat: camera.flat, lat: place[1] }), place[1] + wind[1] * step];
        this.left[k] = (this.left[k] ?? 0) - seconds;
      } else if (box) {
        this.at[k] = this.from[k] = [box.west + Math.random() * (box.east - box.west), box.south + Math.random() * (box.north - box.south)];
        this.left[k] = LIFE * (place ? 0.4 + 0.6 * Math.random() : Math.random());
      }
    }
  }

  /** Begin the next segment of all trails at the present positions. */
  mark(): void {
    this.at.forEach((place, k) => (this.from[k] = place));
  }
}

/** Return the part of the map that the screen shows, or null. */
function common({ grid }: WindField, camera: Camera): { west: number; east: number; south: number; north: number } | null {
  const seen = boxOf(camera);
  const box = {
    west: Math.max(seen.west, grid.west), east: Math.min(seen.east, grid.east),
    south: Math.max(seen.south, grid.south), north: Math.min(seen.north, grid.north),
  };
  return box.west < box.east && box.south < box.north ? box : null;
}
