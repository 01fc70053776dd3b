// Keyboard shortcuts of a map that has the focus. The help is generated from this list.
import { cellAt, centreOf, type Cell, type Grid } from "../maths/grid";
import { cursor, grid } from "../state/store";
import { clickAt } from "../state/tools";
import { look } from "../state/view";
import { toPlace, zoomed, type Camera } from "./camera";

interface MapKey {
  keys: string[];
  /** Text in the help, where it differs from the keys. */
  shown?: string[];
  text: string;
  run(camera: Camera, key: string): void;
}

const MOVES: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
};

const zoom = (factor: number) => (camera: Camera) => setCamera(zoomed(camera, factor, camera.width / 2, camera.height / 2));

export const MAP_KEYS: MapKey[] = [
  { keys: Object.keys(MOVES), shown: ["Arrows"], text: "Move the cursor from cell to cell", run: moveCursor },
  { keys: ["Enter"], text: "Mark the place under the cursor", run: () => cursor.value && clickAt(cursor.value) },
  { keys: ["+", "="], shown: ["+"], text: "Zoom in", run: zoom(1.4) },
  { keys: ["-"], shown: ["−"], text: "Zoom out", run: zoom(1 / 1.4) },
  { keys: ["0"], text: "Whole map", run: () => setCamera(null) },
];

/** Handle a key; returns whether it has a binding. */
export function onKey(key: string, camera: Camera): boolean {
  const found = MAP_KEYS.find((each) => each.keys.includes(key));
  found?.run(camera, key);
  return found !== undefined;
}

export function setCamera(camera: Camera | null): void {
  const short = (value: number) => Number(value.toPrecision(7));
  look({ camera: camera && [short(camera.lon), short(camera.lat), short(camera.scale)] });
}

function moveCursor(camera: Camera, key: string): void {
  const map = grid.value;
  const move = MOVES[key];
  if (!map || !move) return;
  const { row, column } = startOn(map, camera);
  cursor.value = centreOf(map, { row: bounded(row + move[1], map.rows), column: bounded(column + move[0], map.columns) });
}

/** Return the cell of the cursor, by default the one in the middle of the visible area. */
function startOn(map: Grid, camera: Camera): Cell {
  const middle = { row: Math.floor(map.rows / 2), column: Math.floor(map.columns / 2) };
  return (cursor.value && cellAt(map, cursor.value)) ?? cellAt(map, toPlace(camera, camera.width / 2, camera.height / 2)) ?? middle;
}

const bounded = (index: number, count: number): number => Math.min(Math.max(index, 0), count - 1);
