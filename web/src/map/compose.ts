// The map as a picture with its title, hour, runs and colour scale.
import { COUNT, table } from "../maths/colours";
import { number } from "../maths/format";
import { fraction, ticks, type Range } from "../maths/range";

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
  drawMaps(pen, maps, free);
  pen.fillStyle = color;
  drawHead(pen, caption, free.width);
  drawScale(pen, caption, free, color);
}

/** Draw the canvases of all maps at their positions on the screen, in the order of the page. */
function drawMaps(pen: CanvasRenderingContext2D, maps: HTMLElement, free: Part): void {
  pen.save();
  pen.beginPath();
  pen.rect(0, HEAD, free.width, free.height);
  pen.clip();
  for (const map of maps.querySelectorAll<HTMLElement>(".map")) {
    const { left, top, width, height } = map.getBoundingClientRect();
    const [x, y] = [left - free.left, top - free.top + HEAD];
    pen.fillStyle = getComputedStyle(map.closest(".one") ?? map).backgroundColor;
    pen.fillRect(x, y, width, height);
    for (const layer of map.querySelectorAll<HTMLCanvasElement>("canvas.layer")) {
      if (!layer.hidden && layer.width > 0) pen.drawImage(layer, x, y, width, height);
    }
  }
  pen.restore();
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
