// Curves in a frame with ticks, as SVG: values at the pointer or at arrow keys, the displayed time as a line to drag.
import { useSignal } from "@preact/signals";
import { line } from "d3-shape";
import { useRef } from "preact/hooks";
import { number } from "../maths/format";
import { scaleOf, textAt, ticksOf, valueAtPixel, type Axis, type Scale } from "./axes";
import { ChartKey } from "./ChartKey";
import { ChartTable } from "./ChartTable";
import { nearest, positions, readings, type Along, type Curve } from "./curves";
import { useWidth } from "./width";

export { bounds, extentOf, type Axis } from "./axes";
export type { Curve } from "./curves";

export interface Level {
  at: number;
  text: string;
  colour?: string;
}

interface Props {
  label: string;
  x: Axis;
  y: Axis;
  curves: Curve[];
  /** The coordinate that the curves share. */
  along?: Along;
  height?: number;
  /** Position of a vertical line, such as the displayed time, and the action when it is dragged. */
  mark?: number | null;
  onMark?: (at: number) => void;
  /** Shaded spans of the x axis, such as nights. */
  spans?: [number, number][];
  /** Horizontal lines, such as limit values or the height of the boundary layer. */
  levels?: Level[];
  /** Whether the key of the curves is left out. */
  bare?: boolean;
}

export interface Frame {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
  across: Scale;
  up: Scale;
}

export function Chart(props: Props) {
  const { label, curves, along = "x", height = 190, levels = [], spans = [], mark = null, onMark } = props;
  const wrapper = useRef<HTMLDivElement>(null);
  const width = useWidth(wrapper).value;
  const cursor = useSignal<number | null>(null);
  const hidden = useSignal<ReadonlySet<string>>(new Set());
  const visible = curves.filter((each) => !hidden.value.has(each.name));
  const frame = frameOf(props, width, height);
  const all = positions(visible, along);
  const at = cursor.value === null ? null : nearest(all, cursor.value);
  const found = at === null ? [] : readings(visible, at, along);
  const shared = along === "x" ? props.x : props.y;
  const values = along === "x" ? props.y : props.x;
  const words = at === null ? "" : [textAt(at, shared), ...found.map((each) => `${each.curve.name}: ${number(each.value)} ${values.label ?? ""}`)].join(", ");
  const move = (event: PointerEvent) => {
    const box = wrapper.current!.querySelector("svg")!.getBoundingClientRect();
    cursor.value = along === "x" ? valueAtPixel(frame.across, event.clientX - box.left) : valueAtPixel(frame.up, event.clientY - box.top);
    if (onMark && event.buttons & 1) onMark(bounded(cursor.value, props.x.domain));
  };
  const step = (event: KeyboardEvent) => {
    const by = STEPS[event.key];
    if (event.key === "Enter" && at !== null && onMark) onMark(at);
    else if (by === undefined || !all.length) return;
    else cursor.value = all[Math.min(Math.max((at === null ? startOf(all, mark) : all.indexOf(at)) + by, 0), all.length - 1)] ?? null;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="chart" ref={wrapper}>
      <div class="plot" role="slider" tabIndex={0} aria-label={`${label}. Arrow keys read the values.`} aria-orientation={along === "x" ? "horizontal" : "vertical"}
        aria-valuemin={0} aria-valuemax={Math.max(all.length - 1, 0)} aria-valuenow={at === null ? 0 : all.indexOf(at)} aria-valuetext={words || "no value selected"}
        onKeyDown={step} onBlur={() => (cursor.value = null)} onPointerLeave={() => (cursor.value = null)} onPointerMove={move}
        onPointerDown={(event) => {
          if (onMark) event.currentTarget.setPointerCapture(event.pointerId);
          move(event);
        }}>
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          {spans.map(([from, to]) => (
            <rect key={from} class="night" x={frame.across(from)} width={Math.max(frame.across(to) - frame.across(from), 0)} y={frame.top} height={frame.bottom - frame.top} />
          ))}
          <Axes frame={frame} x={props.x} y={props.y} />
          <Levels frame={frame} of={levels.filter((each) => each.at >= props.y.domain[0] && each.at <= props.y.domain[1])} />
          <Curves frame={frame} x={props.x} y={props.y} curves={visible} />
          {mark !== null && <Mark frame={frame} at={mark} draggable={onMark !== undefined} />}
          {at !== null && <Crosshair frame={frame} at={at} along={along} found={found} />}
        </svg>
        {at !== null && found.length > 0 && (
          <div class="tip" aria-hidden="true" style={placeOfTip(frame, at, along)}>
            <b>{textAt(at, shared)}</b>
            {found.map(({ curve, value }) => (
              <span key={curve.name}><i style={{ background: curve.colour }} /> {curve.name} <b>{number(value)}</b> {values.label}</span>
            ))}
          </div>
        )}
      </div>
      {!props.bare && curves.length > 0 && <ChartKey curves={curves} hidden={hidden} />}
      <ChartTable label={label} curves={curves} along={along} shared={shared} values={values} />
    </div>
  );
}

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -6, PageUp: 6, Home: -1e6, End: 1e6 };

const bounded = (value: number, [low, high]: [number, number]): number => Math.min(Math.max(value, low), high);

const startOf = (all: readonly number[], mark: number | null): number => (mark === null ? 0 : all.indexOf(nearest(all, mark) ?? 0));

function frameOf({ x, y }: Props, width: number, height: number): Frame {
  const [top, bottom] = [y.label ? 20 : 8, height - (x.label && x.kind !== "time" ? 34 : 22)];
  const up = scaleOf(y, [bottom, top]);
  const longest = Math.max(...ticksOf(up, y, 4).map(([, text]) => text.length), 2);
  const [left, right] = [Math.min(12 + 6.4 * longest, 70), width - 10];
  return { width, height, left, right, top, bottom, across: scaleOf(x, [left, right]), up };
}

function Axes({ frame, x, y }: { frame: Frame; x: Axis; y: Axis }) {
  const { left, right, top, bottom, across, up, height } = frame;
  return (
    <>
      {ticksOf(up, y, 4).map(([at, text]) => (
        <g key={text} transform={`translate(0 ${up(at)})`}>
          <line class="axis" x1={left} x2={right} />
          <text x={left - 6} dy="0.32em" text-anchor="end">{text}</text>
        </g>
      ))}
      {ticksOf(across, x, Math.max(Math.round((right - left) / 80), 2)).map(([at, text]) => (
        <g key={text} transform={`translate(${across(at)} 0)`}>
          <line class="axis" y1={bottom} y2={bottom + 4} />
          <text y={bottom + 15} text-anchor={across(at) > right - 18 ? "end" : across(at) < left + 8 ? "start" : "middle"}>{text}</text>
        </g>
      ))}
      {y.label && <text class="unit" x={2} y={top - 11}>{y.label}</text>}
      {x.label && <text class="unit" x={right} y={x.kind === "time" ? top - 11 : height - 4} text-anchor="end">{x.label}</text>}
    </>
  );
}

/** Horizontal lines, with names at alternate sides so that near ones do not overlap. */
function Levels({ frame, of }: { frame: Frame; of: Level[] }) {
  return (
    <>
      {of.map((each, k) => {
        const y = frame.up(each.at);
        return (
          <g key={`${each.text} ${each.at}`} class="level" style={each.colour ? { color: each.colour } : {}}>
            <line x1={frame.left} x2={frame.right} y1={y} y2={y} />
            <text x={k % 2 ? frame.right - 4 : frame.left + 4} y={y + (y < frame.top + 14 ? 12 : -4)} text-anchor={k % 2 ? "end" : "start"}>{each.text}</text>
          </g>
        );
      })}
    </>
  );
}

function Curves({ frame, x, y, curves }: { frame: Frame; x: Axis; y: Axis; curves: Curve[] }) {
  const there = ([a, b]: [number, number]) => Number.isFinite(a) && Number.isFinite(b) && !(y.kind === "log" && b <= 0) && !(x.kind === "log" && a <= 0);
  const path = line<[number, number]>().defined(there).x(([a]) => frame.across(a)).y(([, b]) => frame.up(b));
  return (
    <>
      {curves.map((curve) => {
        const alone = curve.dots || curve.points.filter(there).length === 1;
        return alone
          ? <g key={curve.name} class="dots" fill={curve.colour}>{curve.points.filter(there).map(([a, b], k) => <circle key={k} cx={frame.across(a)} cy={frame.up(b)} r={3} />)}</g>
          : <path key={curve.name} class="curve" d={path(curve.points) ?? ""} stroke={curve.colour} stroke-dasharray={curve.dashed ? "5 4" : undefined} />;
      })}
    </>
  );
}

/** The displayed time: a line with a handle at its top. */
function Mark({ frame, at, draggable }: { frame: Frame; at: number; draggable: boolean }) {
  const x = frame.across(at);
  if (x < frame.left - 1 || x > frame.right + 1) return null;
  return (
    <g class="now">
      <line x1={x} x2={x} y1={frame.top} y2={frame.bottom} />
      {draggable && <path d={`M ${x - 5} ${frame.top - 7} h 10 v 4 l -5 5 l -5 -5 z`} />}
    </g>
  );
}

function Crosshair({ frame, at, along, found }: { frame: Frame; at: number; along: Along; found: { curve: Curve; value: number }[] }) {
  const { left, right, top, bottom, across, up } = frame;
  return (
    <g class="crosshair">
      {along === "x" ? <line x1={across(at)} x2={across(at)} y1={top} y2={bottom} /> : <line x1={left} x2={right} y1={up(at)} y2={up(at)} />}
      {found.map(({ curve, value }) => (
        <circle key={curve.name} cx={across(along === "x" ? at : value)} cy={up(along === "x" ? value : at)} r={4} fill={curve.colour} />
      ))}
    </g>
  );
}

/** Place the values on the side of the crosshair that has more space. */
function placeOfTip(frame: Frame, at: number, along: Along): Record<string, string> {
  if (along === "y") return { right: `${frame.width - frame.right + 4}px`, top: `${frame.top + 2}px` };
  const x = frame.across(at);
  return x > frame.width / 2 ? { right: `${frame.width - x + 8}px`, top: `${frame.top}px` } : { left: `${x + 8}px`, top: `${frame.top}px` };
}
