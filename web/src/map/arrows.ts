// Wind arrows in a regular grid on the screen, with lengths proportional to the speed.
import { toPlace, type Camera } from "./camera";
import type { Ink } from "./lines";
import { windAt, type WindField } from "./wind_field";

/** Distance between arrows, and length of the reference arrow [pixels]. */
const APART = 34;
export const REFERENCE_LENGTH = 26;

export function drawArrows(pen: CanvasRenderingContext2D, field: WindField, camera: Camera, ink: Ink, perSpeed: number): void {
  pen.clearRect(0, 0, camera.width, camera.height);
  const arrows: [number, number, number, number][] = [];
  for (let x = APART / 2; x < camera.width; x += APART) {
    for (let y = APART / 2; y < camera.height; y += APART) {
      const wind = windAt(field, toPlace(camera, x, y));
      if (wind) arrows.push([x, y, wind[0] * perSpeed, -wind[1] * perSpeed]);
    }
  }
  for (const [width, colour] of [[3.2, ink.halo], [1.3, ink.line]] as const) {
    pen.lineWidth = width;
    pen.strokeStyle = colour;
    pen.lineCap = "round";
    pen.beginPath();
    for (const arrow of arrows) trace(pen, ...arrow);
    pen.stroke();
  }
}

/** Trace an arrow around its middle; calm air is a dot. */
export function trace(pen: Pick<CanvasRenderingContext2D, "moveTo" | "lineTo">, x: number, y: number, across: number, down: number): void {
  const length = Math.hypot(across, down);
  if (length < 1.5) {
    pen.moveTo(x, y);
    pen.lineTo(x + 0.1, y);
    return;
  }
  const [endX, endY] = [x + across / 2, y + down / 2];
  const head = Math.min(length * 0.35, 6);
  const angle = Math.atan2(down, across);
  pen.moveTo(x - across / 2, y - down / 2);
  pen.lineTo(endX, endY);
  for (const turn of [2.6, -2.6]) {
    pen.moveTo(endX, endY);
    pen.lineTo(endX + head * Math.cos(angle + turn), endY + head * Math.sin(angle + turn));
  }
}
