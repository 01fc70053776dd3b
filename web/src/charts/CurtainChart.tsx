// A vertical cross-section: distance along the line, height above ground, values in the colours of the map.
import { useSignal } from "@preact/signals";
import { line } from "d3-shape";
import { useEffect, useRef } from "preact/hooks";
import { colourAt } from "../maths/colours";
import { number } from "../maths/format";
import { fraction, type Range } from "../maths/range";
import { STEPS } from "../maths/section";
import { levelAt, nameAlong, valueIn, type Curtain } from "../state/curtain";
import { heightAxis, heightText, scaleOf, ticksOf, valueAtPixel, type Axis } from "./axes";
import { useWidth } from "./width";

interface Props {
  of: Curtain;
  label: string;
  unit: string;
  colours: string;
  range: Range;
  log: boolean;
  height?: number;
}

interface Point {
  /** Part of the line, from 0 to 1. */
  part: number;
  /** [m] above ground */
  height: number;
}

export function CurtainChart({ of, label, unit, colours, range, log, height = 230 }: Props) {
  const wrapper = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(wrapper).value;
  const cursor = useSignal<Point | null>(null);
  const frame = { left: 56, right: width - 10, top: 22, bottom: height - 36 };
  const top = of.edges.at(-1) ?? 1;
  const x: Axis = { domain: [0, Math.max(of.length, 1e-3)] };
  const y = heightAxis(top, log, lowest(of));
  const [across, up] = [scaleOf(x, [frame.left, frame.right]), scaleOf(y, [frame.bottom, frame.top])];
  const pixel = (metres: number) => up(Math.max(metres, y.domain[0]));
  useEffect(() => paint(canvas.current!, of, { width: frame.right - frame.left, height: frame.bottom - frame.top }, (metres) => pixel(metres) - frame.top, range, colours));
  const move = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const part = (event.clientX - box.left) / box.width;
    const metres = valueAtPixel(up, event.clientY - box.top + frame.top);
    cursor.value = part >= 0 && part <= 1 && metres <= top ? { part, height: Math.max(metres, 0) } : null;
  };
  const at = cursor.value;
  const words = at ? textOf(of, at, unit) : `${of.ends[0]} to ${of.ends[1]}: point at a value, or use the arrow keys.`;
  return (
    <div class="chart curtain" ref={wrapper}>
      <div class="plot" role="application" tabIndex={0} aria-label={`${label}. Arrow keys read the values.`}
        onPointerMove={move} onPointerLeave={() => (cursor.value = null)} onBlur={() => (cursor.value = null)}
        onKeyDown={(event) => {
          const next = moved(of, at, event.key);
          if (!next) return;
          cursor.value = next;
          event.preventDefault();
          event.stopPropagation();
        }}>
        <canvas ref={canvas} aria-hidden="true" style={{ left: `${frame.left}px`, top: `${frame.top}px`, width: `${frame.right - frame.left}px`, height: `${frame.bottom - frame.top}px` }} />
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          {ticksOf(up, y, 4).map(([value, text]) => (
            <g key={text} transform={`translate(0 ${up(value)})`}>
              <line class="axis" x1={frame.left - 4} x2={frame.left} /><text x={frame.left - 7} dy="0.32em" text-anchor="end">{text}</text>
            </g>
          ))}
          {ticksOf(across, x, 4).map(([value, text]) => (
            <g key={text} transform={`translate(${across(value)} 0)`}>
              <line class="axis" y1={frame.bottom} y2={frame.bottom + 4} /><text y={frame.bottom + 15} text-anchor="middle">{text}</text>
            </g>
          ))}
          <text class="unit" x={2} y={9}>{y.label}</text>
          <text class="unit" x={frame.right} y={height - 4} text-anchor="end">km from A</text>
          <Ends of={of} left={frame.left} right={frame.right} y={frame.bottom + 28} />
          {of.cities.map((each) => {
            const place = frame.left + each.part * (frame.right - frame.left);
            return (
              <g key={each.name} class="city">
                <line x1={place} x2={place} y1={frame.bottom} y2={frame.bottom - 6} />
                <text x={place} y={frame.bottom - 9} text-anchor={each.part < 0.12 ? "start" : each.part > 0.88 ? "end" : "middle"}>{each.name}</text>
              </g>
            );
          })}
          {of.ceiling && <path class="ceiling" d={ceilingPath(of.ceiling, frame.left, frame.right, pixel)} />}
          {at && (
            <g class="crosshair">
              <line x1={frame.left + at.part * (frame.right - frame.left)} x2={frame.left + at.part * (frame.right - frame.left)} y1={frame.top} y2={frame.bottom} />
              <line x1={frame.left} x2={frame.right} y1={pixel(at.height)} y2={pixel(at.height)} />
            </g>
          )}
        </svg>
      </div>
      <output class="values" aria-live="polite">{words}</output>
    </div>
  );
}

/** The least height of a logarithmic axis: half of the lowest layer. */
const lowest = (of: Curtain): number => Math.max((of.edges[1] ?? 1) / 2, 1);

function Ends({ left, right, y }: { of: Curtain; left: number; right: number; y: number }) {
  return (
    <g class="ends">
      <text x={left} y={y} text-anchor="start">A</text>
      <text x={right} y={y - 13} text-anchor="end" dx={10}>B</text>
    </g>
  );
}

function textOf(of: Curtain, { part, height }: Point, unit: string): string {
  return `${number(valueIn(of, part, height))} ${unit} · ${heightText(height)} above ground · ${number(part * of.length)} km from A, ${nameAlong(part)}`;
}

const MOVES: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** Return the point after a key: a fiftieth of the line, or a layer. */
function moved(of: Curtain, from: Point | null, key: string): Point | null {
  const move = MOVES[key];
  if (!move) return null;
  const centre = (level: number) => ((of.edges[level] ?? 0) + (of.edges[level + 1] ?? 0)) / 2;
  if (!from) return { part: 0.5, height: centre(0) };
  const level = Math.min(Math.max(levelAt(of, from.height) + move[1], 0), of.edges.length - 2);
  return { part: Math.min(Math.max(from.part + move[0] / 50, 0), 1), height: centre(level) };
}

function ceilingPath(ceiling: Float32Array, left: number, right: number, pixel: (metres: number) => number): string {
  const points = Array.from(ceiling, (metres, k): [number, number] => [left + ((k + 0.5) / STEPS) * (right - left), metres]);
  return line<[number, number]>().defined(([, metres]) => Number.isFinite(metres)).y(([, metres]) => pixel(metres))(points) ?? "";
}

function paint(
  canvas: HTMLCanvasElement, of: Curtain, size: { width: number; height: number }, pixel: (metres: number) => number, range: Range, colours: string,
): void {
  const density = window.devicePixelRatio || 1;
  Object.assign(canvas, { width: Math.round(size.width * density), height: Math.round(size.height * density) });
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.scale(density, density);
  const wide = size.width / STEPS;
  of.values.forEach((value, k) => {
    if (Number.isNaN(value)) return;
    const level = Math.floor(k / STEPS);
    const [bottom, top] = [pixel(of.edges[level] ?? 0), pixel(of.edges[level + 1] ?? 0)];
    pen.fillStyle = colourAt(colours, fraction(value, range));
    pen.fillRect((k % STEPS) * wide - 0.25, top - 0.25, wide + 0.5, bottom - top + 0.5);
  });
}
