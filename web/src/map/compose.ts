// The map as a picture with its title, hour, runs and colour scale.
import { COUNT, table } from "../maths/colours";
import { number } from "../maths/format";
import { fraction, ticks, type Range } from "../maths/range";
import { view } from "../state/view";

/** Words and colours of a picture. */
export interface Caption {
  title: string;
  /** Hour, height and run. */
  lines: string[];
  unit: string;
  range: Range;
  colours: string;
}

/** Part of the screen [CSS pixels]. */
export interface Part {
  left: number;
  top: number;
  width: number;
  height: number;
}

const HEAD = 62;
const FOOT = 64;
const MARGIN = 16;
const BAR = { width: 380, height: 12 };
const FONT = "system-ui, sans-serif";

/** Draw maps with a caption on a canvas, with a number of pixels per CSS pixel. */
export function compose(target: HTMLCanvasElement, maps: HTMLElement, free: Part, caption: Caption, density: number): void {
  const size = { width: Math.round(free.width * density), height: Math.round((free.height + HEAD + FOOT) * density) };
  if (target.width !== size.width || target.height !== size.height) Object.assign(target, size);
  const pen = target.getContext("2d")!;
  pen.setTransform(density, 0, 0, density, 0, 0);
  const { color, backgroundColor } = getComputedStyle(document.querySelector(".top") ?? document.body);
  pen.fillStyle = backgroundColor;
  pen.fillRect(0, 0, free.width, free.height + HEAD + FOOT);
  drawMaps(pen, maps, free, view.value.swipe);
  pen.fillStyle = color;
  drawHead(pen, caption, free.width);
  drawScale(pen, caption, free, color);
}

/** Draw the canvases of all maps, each at its own place on the screen, in the order of the page. */
export function drawMaps(pen: CanvasRenderingContext2D, maps: HTMLElement, free: Part, swipe: number): void {
  pen.save();
  const whole: Place = [0, HEAD, free.width, free.height];
  clipTo(pen, whole);
  for (const one of maps.querySelectorAll<HTMLElement>(".one")) {
    const { side } = one.dataset;
    pen.save();
    if (side) clipTo(pen, sideOf(whole, side, swipe));
    pen.fillStyle = getComputedStyle(one).backgroundColor;
    pen.fillRect(...placeIn(free, one.getBoundingClientRect()));
    for (const layer of one.querySelectorAll<HTMLCanvasElement>("canvas.layer")) {
      if (!layer.hidden && layer.width > 0) pen.drawImage(layer, ...placeIn(free, layer.getBoundingClientRect())); // a field covers a part of its map
    }
    pen.restore();
    if (side === "right") drawLine(pen, sideOf(whole, side, swipe));
  }
  pen.restore();
}

/** Position and size [CSS pixels]. */
type Place = [x: number, y: number, width: number, height: number];

/** Return the place in the picture of a part of the screen. */
export const placeIn = (free: Part, { left, top, width, height }: Part): Place => [left - free.left, top - free.top + HEAD, width, height];

/** Return the part of the picture at one side of the line between two runs. */
function sideOf([x, y, width, height]: Place, side: string, swipe: number): Place {
  const left = swipe * width;
  return side === "left" ? [x, y, left, height] : [x + left, y, width - left, height];
}

function clipTo(pen: CanvasRenderingContext2D, place: Place): void {
  pen.beginPath();
  pen.rect(...place);
  pen.clip();
}

function drawLine(pen: CanvasRenderingContext2D, [x, y, , height]: Place): void {
  pen.fillStyle = "#0006";
  pen.fillRect(x - 2, y, 4, height);
  pen.fillStyle = "#fff";
  pen.fillRect(x - 1, y, 2, height);
}

function drawHead(pen: CanvasRenderingContext2D, { title, lines }: Caption, width: number): void {
  pen.textBaseline = "alphabetic";
  pen.textAlign = "left";
  pen.font = `650 18px ${FONT}`;
  pen.fillText(title, MARGIN, 27, width - 2 * MARGIN);
  pen.font = `13px ${FONT}`;
  pen.fillText(lines.join(" · "), MARGIN, 48, width - 2 * MARGIN);
}

function drawScale(pen: CanvasRenderingContext2D, { unit, range, colours }: Caption, free: Part, ink: string): void {
  const top = HEAD + free.height + 16;
  const width = Math.min(BAR.width, free.width - 2 * MARGIN - 70);
  const rgb = table(colours);
  for (let k = 0; k < COUNT; k++) {
    pen.fillStyle = `rgb(${rgb[3 * k]} ${rgb[3 * k + 1]} ${rgb[3 * k + 2]})`;
    pen.fillRect(MARGIN + (k / COUNT) * width, top, width / COUNT + 0.6, BAR.height);
  }
  pen.fillStyle = pen.strokeStyle = ink;
  pen.font = `12px ${FONT}`;
  pen.textBaseline = "top";
  pen.textAlign = "center";
  for (const each of ticks(range, 5)) {
    const at = MARGIN + fraction(each, range) * width;
    if (at < MARGIN - 1 || at > MARGIN + width + 1) continue;
    pen.fillRect(at - 0.5, top + BAR.height, 1, 4);
    pen.fillText(number(each), at, top + BAR.height + 6);
  }
  pen.textAlign = "left";
  pen.fillText(unit, MARGIN + width + 12, top);
  pen.textAlign = "right";
  if (free.width > 640) pen.fillText("Airshed", free.width - MARGIN, top);
}
