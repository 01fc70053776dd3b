// Map of one session: the field on the GPU, lines over it, and reactions to pointer and keyboard.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { cellAt, centreOf, lonLatOf, placeText, valueAt, type Place } from "../maths/grid";
import { number } from "../maths/format";
import { mapEdges } from "../state/layout";
import { comparing, difference, exceeded, fields, limitText, unit, type Shown } from "../state/scale";
import { overlay } from "../state/overlay";
import { placeName } from "../state/place_names";
import { cursor, geography, grid, infos } from "../state/store";
import { atHour, chooseStation, hovered, shownUnit } from "../state/stations";
import { clickAt, tool } from "../state/tools";
import { view } from "../state/view";
import { boxOf, fit, panned, type Camera } from "./camera";
import { useGestures } from "./gestures";
import { onKey, setCamera } from "./keys";
import { paint, paintAbove, paintBase, paintWorld } from "./painting";
import { stationAt } from "./stations";
import { WindLayer } from "./WindLayer";

const MARGIN = 12;
/** Areas covered by the colour scale at the lower left, and by the readout at the top [pixels]. */
const LEGEND = { width: 384, height: 118 };
const TOP = 46;
const SMALL = 360;

/** Return the selected camera, or one that shows the whole map in the free area next to the legend: above it or to its right. */
function cameraFor(width: number, height: number): Camera {
  const map = grid.value ?? { west: -180, east: 180, south: -90, north: 90 };
  const chosen = view.value.camera;
  if (chosen) return { lon: chosen[0], lat: chosen[1], scale: chosen[2], width, height, ...(grid.value?.flat && { flat: true }) };
  const { top, right, bottom } = mapEdges.value;
  const [across, up] = [width - right, height - top - bottom];
  const bars = up > SMALL ? LEGEND.height + TOP : 0; // in a small area the colour scale covers a part of the map
  const above = fit(map, across, up - bars, MARGIN);
  const beside = fit(map, across - LEGEND.width, up, MARGIN);
  const [whole, x, y] = beside.scale > above.scale
    ? [beside, LEGEND.width + (across - LEGEND.width) / 2, top + up / 2]
    : [above, across / 2, top + (bars && TOP) + (up - bars) / 2];
  const raised = panned({ ...whole, width, height }, 0, y - height / 2);
  return panned(raised, x - width / 2, 0); // the scale of longitude depends on the new latitude
}

export function MapView({ session }: { session: string }) {
  const frame = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const ground = useRef<HTMLCanvasElement>(null);
  const world = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const room = useSignal({ width: 0, height: 0 });
  const broken = useSignal(false);
  const camera = useComputed(() => cameraFor(room.value.width, room.value.height));
  const shown = useComputed<Shown | null>(() =>
    overlay.value?.session === session ? overlay.value :
    comparing.value ? difference.value : (fields.value.find((each) => each.session === session) ?? null),
  );

  useEffect(() => {
    const element = frame.current!;
    const watch = new ResizeObserver(() => {
      room.value = { width: element.clientWidth, height: element.clientHeight };
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const blank = useComputed(() => shown.value === null);
  useEffect(() => paintBase(base.current!, camera, room), []);
  useEffect(() => paint(ground.current!, camera, shown, room, broken), []);
  useEffect(() => paintWorld(world.current!, camera, room), []);
  useEffect(() => paintAbove(above.current!, camera, shown, room), []);
  useGestures(frame, camera, {
    move: setCamera,
    hover: (place) => {
      cursor.value = place;
      hovered.value = place && stationAt(atHour.value, place, camera.value);
    },
    click: (place) => {
      const station = tool.value === "place" ? stationAt(atHour.value, place, camera.value) : null;
      if (station) chooseStation(station);
      else clickAt(place);
    },
    key: (key) => onKey(key, camera.value),
  });

  const box = boxOf(camera.value);
  const edge = [box.west, box.south, box.east, box.north].map((each) => each.toFixed(6)).join(",");
  return (
    <div
      ref={frame} class="map" tabIndex={0} data-session={session} data-box={edge} data-tool={tool.value} role="application"
      aria-label={`Map of ${infos.value[session]?.state.title ?? session}. Arrow keys move from cell to cell, Enter marks a place.`}
    >
      <canvas ref={base} class="layer" aria-hidden="true" />
      <canvas ref={ground} class="layer" aria-hidden="true" />
      <WindLayer camera={camera} />
      <canvas ref={world} class="layer" aria-hidden="true" />
      <canvas ref={above} class="layer" aria-hidden="true" />
      {broken.value && <p class="blank">The map needs WebGL2, which this browser does not provide. Enable hardware acceleration, or use another browser.</p>}
      {!broken.value && blank.value && <p class="blank" role="status">{waitingFor(session)}</p>}
    </div>
  );
}

function waitingFor(session: string): string {
  const [one, other] = fields.value;
  if (comparing.value && one && other) {
    return `A difference needs both runs at the same time; they are at ${one.frame.header.time.slice(0, 16)} and ${other.frame.header.time.slice(0, 16)}. Advance the earlier run.`;
  }
  return infos.value[session] ? "Waiting for the field …" : "Waiting for the model …";
}

/** Value of the cell under the cursor, with its unit and position. */
export function Readout() {
  const map = grid.value;
  const at: Place | null = cursor.value;
  const cell = map && at && cellAt(map, at);
  const found = overlay.value ? [overlay.value] : comparing.value ? [difference.value] : fields.value;
  const place = map && cell && lonLatOf(map, geography.value?.places ?? null, centreOf(map, cell));
  if (!map || !at || !cell) return <div class="readout idle">Point at the map</div>;
  return (
    <div class="readout" role="status" data-row={cell.row} data-column={cell.column}>
      {found.map((each) => each && (
        <strong key={each.session}>{number(valueAt(each.values, map, cell))} <small>{overlay.value?.unit ?? unit.value?.label}</small></strong>
      ))}
      <LimitWords value={Math.max(...found.map((each) => (each ? valueAt(each.values, map, cell) : NaN)))} />
      <span title={place ? placeText(place) : ""}>{place && placeName(place)}</span>
      <StationReadout />
    </div>
  );
}

/** The highest limit that a value exceeds, in words. */
function LimitWords({ value }: { value: number }) {
  const limit = exceeded(value);
  return limit && <em class="above">above the {limitText(limit)}</em>;
}

/** Observed and modelled value of the station under the pointer. */
function StationReadout() {
  const found = atHour.value.find((each) => each.station.id === hovered.value);
  if (!found) return null;
  const { station, observed, modelled } = found;
  return <span class="of-station">{station.name}: {Number.isFinite(observed) ? `observed ${number(observed)}, model ${number(modelled)} ${shownUnit.value}` : "no value at this hour"}</span>;
}
