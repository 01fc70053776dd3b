// Marked places: time series, profiles, and the cross-section along a line.
import { useEffect, useRef } from "preact/hooks";
import { bounds, Chart } from "../../charts/Chart";
import { COUNT, table } from "../../maths/colours";
import { number } from "../../maths/format";
import { placeText, valueAt, type Place } from "../../maths/grid";
import { automatic, fraction, type Range } from "../../maths/range";
import { positionName } from "../../state/place_names";
import { curtain, hasLevels, marked, profiles, series, STEPS, type Curtain } from "../../state/places";
import { colours, fields, range, unit } from "../../state/scale";
import { grid, placeOf, shown, variable } from "../../state/store";
import { choose, drawn, tool } from "../../state/tools";
import { look, view } from "../../state/view";
import { Icon } from "../frame/icons";
import { PlaceSentence } from "./PlaceSentence";

export function PlacePanel() {
  return (
    <>
      <Places />
      {marked.value.length > 0 && <Series />}
      {marked.value.length > 0 && hasLevels.value && <Profiles />}
      {hasLevels.value && <CurtainSection />}
    </>
  );
}

function Places() {
  const map = grid.value;
  const of = fields.value.find((each) => each.session === view.value.session);
  const drop = (k: number) => look({ places: view.value.places.filter((_, other) => other !== k) });
  return (
    <section aria-label="Marked places">
      <h2>Places</h2>
      {!marked.value.length && <p class="empty">Click the map to mark a place and to see its time series. With the keyboard, move the cursor with the arrow keys and press Enter.</p>}
      {marked.value.map(({ place, cell, colour }, k) => (
        <div class="key" key={`${place}`}>
          <i style={{ background: colour }} aria-hidden="true" />
          <b>{k + 1}</b>
          <span title={textOf(placeOf(place))}>{positionName(place) || textOf(placeOf(place))}</span>
          <b>{map && cell && of ? `${number(valueAt(of.values, map, cell), 4)} ${unit.value?.label ?? ""}` : "–"}</b>
          <button type="button" class="quiet" aria-label={`Remove place ${k + 1}`} onClick={() => drop(k)}><Icon name="close" /></button>
        </div>
      ))}
      {marked.value.map((_, k) => <PlaceSentence key={k} of={k} />)}
    </section>
  );
}

const textOf = (place: Place | null): string => (place ? placeText(place) : "–");

function Series() {
  const frame = shown(view.value.session);
  const [from = 0, to = 1] = extentOf(series.value.flatMap((curve) => curve.points.map((point) => point[0])));
  return (
    <section>
      <h3>Time series</h3>
      <Chart label={`${variable.value?.name} at the marked places, time series`} x={{ domain: [from, to], kind: "time" }}
        y={{ domain: bounds(series.value, 1), label: unit.value?.label ?? "" }} curves={series.value} mark={frame ? Date.parse(frame.header.time) : null} />
    </section>
  );
}

function extentOf(values: number[]): number[] {
  return values.length ? [Math.min(...values), Math.max(...values)] : [];
}

function Profiles() {
  const top = Math.max(...profiles.value.flatMap((curve) => curve.points.map((point) => point[1])), 100);
  return (
    <section>
      <h3>Profile</h3>
      <Chart label={`${variable.value?.name} at the marked places, vertical profiles`} height={210} curves={profiles.value}
        x={{ domain: bounds(profiles.value, 0), label: unit.value?.label ?? "" }} y={{ domain: [0, top], label: "m" }} />
    </section>
  );
}

function CurtainSection() {
  const drawing = tool.value === "line";
  const prompt = drawing ? (drawn.value.length ? "Click the end of the line." : "Click the start of the line.") : null;
  return (
    <section>
      <h2>Cross-section</h2>
      <div class="actions">
        <button type="button" aria-pressed={drawing} onClick={() => choose(drawing ? "place" : "line")}>
          {drawing ? "Cancel" : view.value.line ? "Draw another line" : "Draw a line"}
        </button>
        {view.value.line && !drawing && <button type="button" class="quiet" onClick={() => look({ line: null })}>Remove</button>}
      </div>
      {prompt && <p role="status">{prompt}</p>}
      {!prompt && !view.value.line && <p class="empty">Draw a line on the map to see a vertical cross-section along it.</p>}
      {curtain.value && <Picture of={curtain.value} />}
    </section>
  );
}

const WIDTH = 318;
const HEIGHT = 170;

function Picture({ of }: { of: Curtain }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const top = of.edges.at(-1) ?? 1;
  const scale = view.value.range ? range.value : automatic(of.values, range.value.log, null);
  useEffect(() => drawCurtain(canvas.current!, of, scale));
  return (
    <figure style={{ margin: 0 }}>
      <canvas ref={canvas} width={WIDTH * 2} height={HEIGHT * 2} style={{ width: "100%", borderRadius: "6px", display: "block" }} role="img"
        aria-label={`${variable.value?.name} along the line, from the ground to ${number(top)} m`} />
      <figcaption class="empty">{number(of.length)} km from left to right, 0 to {number(top)} m above ground (square-root scale); colours
        from {number(scale.low)} to {number(scale.high)} {unit.value?.label}</figcaption>
    </figure>
  );
}

function drawCurtain(canvas: HTMLCanvasElement, of: Curtain, scale: Range): void {
  const pen = canvas.getContext("2d");
  if (!pen) return;
  const rgb = table(colours.value);
  const high = Math.sqrt(of.edges.at(-1) ?? 1);
  const at = (height: number) => canvas.height * (1 - Math.sqrt(height) / high);
  const width = canvas.width / STEPS;
  pen.clearRect(0, 0, canvas.width, canvas.height);
  of.values.forEach((value, k) => {
    if (Number.isNaN(value)) return;
    const up = Math.floor(k / STEPS);
    const index = 3 * Math.min(Math.max(Math.floor(fraction(value, scale) * COUNT), 0), COUNT - 1);
    const [bottom, top] = [at(of.edges[up] ?? 0), at(of.edges[up + 1] ?? 0)];
    pen.fillStyle = `rgb(${rgb[index]} ${rgb[index + 1]} ${rgb[index + 2]})`;
    pen.fillRect((k % STEPS) * width - 0.5, top - 0.5, width + 1, bottom - top + 1);
  });
}
