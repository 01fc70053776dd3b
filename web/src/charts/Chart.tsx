// Curves in a frame with ticks, as SVG.
import { scaleLinear, scaleLog, scaleUtc, type ScaleContinuousNumeric, type ScaleTime } from "d3-scale";
import { line } from "d3-shape";
import { clock, day, number } from "../maths/format";

export interface Curve {
  name: string;
  colour: string;
  dashed?: boolean;
  points: [x: number, y: number][];
}

export interface Axis {
  domain: [number, number];
  kind?: "linear" | "log" | "time";
  label?: string;
}

interface Props {
  label: string;
  x: Axis;
  y: Axis;
  curves: Curve[];
  /** Position of a vertical line on the x axis, such as the displayed time. */
  mark?: number | null;
  height?: number;
}

type Scale = ScaleContinuousNumeric<number, number> | ScaleTime<number, number>;

const WIDTH = 318;
const EDGE = { left: 46, right: 8, top: 8, bottom: 30 };

export function Chart({ label, x, y, curves, mark = null, height = 168 }: Props) {
  const across = scaleOf(x, [EDGE.left, WIDTH - EDGE.right]);
  const up = scaleOf(y, [height - EDGE.bottom, EDGE.top]);
  const path = line<[number, number]>()
    .defined(([a, b]) => Number.isFinite(a) && Number.isFinite(b) && !(y.kind === "log" && b <= 0) && !(x.kind === "log" && a <= 0))
    .x(([a]) => across(a))
    .y(([, b]) => up(b));
  return (
    <svg class="chart" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={label}>
      {ticksOf(up, y, 4).map(([at, text]) => (
        <g key={text} transform={`translate(0 ${up(at)})`}>
          <line class="axis" x1={EDGE.left} x2={WIDTH - EDGE.right} />
          <text x={EDGE.left - 6} dy="0.32em" text-anchor="end">{text}</text>
        </g>
      ))}
      {ticksOf(across, x, 4).map(([at, text]) => (
        <g key={text} transform={`translate(${across(at)} 0)`}>
          <line class="axis" y1={height - EDGE.bottom} y2={height - EDGE.bottom + 4} />
          <text y={height - EDGE.bottom + 15} text-anchor={across(at) > WIDTH - EDGE.right - 18 ? "end" : "middle"}>{text}</text>
        </g>
      ))}
      {y.label && <text x={2} y={8} dominant-baseline="middle">{y.label}</text>}
      {x.label && <text x={WIDTH - EDGE.right} y={height - 2} text-anchor="end">{x.label}</text>}
      {mark !== null && <line class="now" x1={across(mark)} x2={across(mark)} y1={EDGE.top} y2={height - EDGE.bottom} />}
      {curves.map((curve) => (
        <path key={curve.name} class="curve" d={path(curve.points) ?? ""} stroke={curve.colour} stroke-dasharray={curve.dashed ? "5 4" : undefined} />
      ))}
      {curves.map((curve) => curve.points.length === 1 && curve.points[0] && (
        <circle key={curve.name} cx={across(curve.points[0][0])} cy={up(curve.points[0][1])} r={3} fill={curve.colour} />
      ))}
    </svg>
  );
}

const HOUR = 3_600_000;

function scaleOf({ domain, kind }: Axis, range: [number, number]): Scale {
  const margin = kind === "time" ? HOUR : 1;
  const [low, high] = domain[0] === domain[1] ? [domain[0] - margin, domain[1] + margin] : domain;
  if (kind === "time") return scaleUtc().domain([low, high]).range(range);
  return (kind === "log" ? scaleLog() : scaleLinear()).domain([low, high]).range(range);
}

function ticksOf(scale: Scale, { kind }: Axis, count: number): [number, string][] {
  if (kind === "time") {
    const time = scale as ScaleTime<number, number>;
    const ticks = time.ticks(count);
    return ticks.map((each) => [each.getTime(), timeText(each, (ticks[1]?.getTime() ?? 0) - (ticks[0]?.getTime() ?? 0))]);
  }
  const plain = scale as ScaleContinuousNumeric<number, number>;
  const all = plain.ticks(count);
  const few = all.filter((_, k) => k % Math.ceil(all.length / (count + 3)) === 0);
  return few.map((each) => [each, number(each)]);
}

const DAY = 86_400_000;

/** Return the text of a tick: hours where ticks are closer than a day, except at midnight. */
function timeText(time: Date, spacing: number): string {
  const iso = time.toISOString();
  if (spacing < DAY && time.getTime() % DAY !== 0) return clock(iso);
  return spacing > 300 * DAY ? iso.slice(0, 4) : day(iso).replace(/ \d{4}$/, "");
}

/** Return the bounds of all points along an axis, slightly extended. */
export function bounds(curves: Curve[], axis: 0 | 1): [number, number] {
  const all = curves.flatMap((curve) => curve.points.map((point) => point[axis])).filter(Number.isFinite);
  if (!all.length) return [0, 1];
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const margin = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low >= 0 ? Math.max(low - margin, 0) : low - margin, high + margin];
}
