// Wind as moving particles with fading trails.
import type { Place } from "../maths/grid";
import { boxOf, squeeze, toPixel, type Camera } from "./camera";
import { windAt, type WindField } from "./wind_field";

interface Particle {
  at: Place;
  age: number;
}

const PER_PIXEL = 1 / 900;
const MOST = 2500;
const LIFE = 90;
/** Pixels by which the strongest wind moves a particle between two frames. */
const FASTEST = 2.2;

export class Particles {
  private all: Particle[] = [];

  /** Move all particles, and draw their paths. */
  draw(pen: CanvasRenderingContext2D, field: WindField, camera: Camera, colour: string): void {
    fade(pen, camera);
    const count = Math.min(Math.round(camera.width * camera.height * PER_PIXEL), MOST);
    while (this.all.length < count) this.all.push({ at: anywhere(camera), age: Math.random() * LIFE });
    this.all.length = count;
    const pace = paceOf(field, camera);
    pen.globalAlpha = 0.55;
  pen.strokeStyle = colour;
    pen.lineWidth = 1.3;
    pen.lineCap = "round";
    pen.beginPath();
    for (const each of this.all) move(each, pen, field, camera, pace);
    pen.stroke();
  }
}

function move(each: Particle, pen: CanvasRenderingContext2D, field: WindField, camera: Camera, pace: number): void {
  const wind = each.age < LIFE ? windAt(field, each.at) : null;
  each.age += 1;
  if (!wind) {
    each.at = anywhere(camera);
    each.age = Math.random() * 20;
    return;
  }
  const [lon, lat] = each.at;
  const next: Place = [lon + (wind[0] * pace) / squeeze({ flat: camera.flat, lat }), lat + wind[1] * pace];
  pen.moveTo(...toPixel(camera, each.at));
  pen.lineTo(...toPixel(camera, next));
  each.at = next;
}

function fade(pen: CanvasRenderingContext2D, camera: Camera): void {
  pen.globalCompositeOperation = "destination-in";
  pen.fillStyle = "rgba(0 0 0 / 0.93)";
  pen.fillRect(0, 0, camera.width, camera.height);
  pen.globalCompositeOperation = "source-over";
}

/** Return degrees of latitude per frame for a wind of 1 m/s. */
function paceOf(field: WindField, camera: Camera): number {
  let strongest = 1e-6;
  field.east.forEach((east, k) => {
    const speed = Math.hypot(east, field.north[k] ?? 0);
    if (speed > strongest) strongest = speed;
  });
  return FASTEST / strongest / camera.scale;
}

function anywhere(camera: Camera): Place {
  const box = boxOf(camera);
  return [box.west + Math.random() * (box.east - box.west), box.south + Math.random() * (box.north - box.south)];
}
