// The maps of the displayed runs: one, two side by side, two on both sides of a line, or one of their difference.
import { useRef } from "preact/hooks";
import { isBehind, runBehind } from "../state/compared";
import { mapEdges } from "../state/layout";
import { nameOf } from "../state/names";
import { overlay } from "../state/overlay";
import { comparing } from "../state/scale";
import { look, view, watched } from "../state/view";
import { MapView } from "./MapView";

export function Maps() {
  const [first = "", other] = watched.value;
  const names = comparing.value || overlay.value ? [first] : watched.value;
  const swipe = names.length > 1 && view.value.compare === "swipe";
  return (
    <div class="maps" data-count={swipe ? 1 : names.length} data-compare={names.length > 1 ? view.value.compare : undefined} style={{ "--part": view.value.swipe }}>
      {names.map((name, k) => (
        <div class="one" key={name} data-side={swipe ? (k ? "right" : "left") : undefined}>
          {other && !overlay.value && <h2 class="which">{comparing.value ? <>{nameOf(other)} <small>minus {nameOf(first)}</small></> : nameOf(name)}</h2>}
          <MapView session={name} />
        </div>
      ))}
      {swipe && <Line />}
      {other && !overlay.value && <Behind />}
    </div>
  );
}

const STEP = 0.02;
const bounded = (part: number): number => Number(Math.min(Math.max(part, 0), 1).toFixed(4));

/** The line between two runs, which a pointer drags and arrow keys move. */
function Line() {
  const line = useRef<HTMLDivElement>(null);
  const at = (event: PointerEvent) => {
    if (!line.current?.hasPointerCapture(event.pointerId)) return;
    const box = line.current.parentElement!.getBoundingClientRect();
    look({ swipe: bounded((event.clientX - box.left) / (box.width - mapEdges.value.right)) });
  };
  const onKey = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowLeft: -STEP, ArrowRight: STEP, PageDown: -5 * STEP, PageUp: 5 * STEP, Home: -1, End: 1 };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    look({ swipe: bounded(view.value.swipe + move) });
  };
  const [left = "", right = ""] = watched.value.map(nameOf);
  return (
    <div ref={line} class="swipe" role="slider" tabIndex={0} aria-label={`Line between “${left}” at the left and “${right}” at the right`} aria-valuenow={Math.round(100 * view.value.swipe)}
      aria-valuemin={0} aria-valuemax={100} title="Drag, or use the arrow keys" onKeyDown={onKey} onPointerMove={at}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}><span aria-hidden="true">◂▸</span></div>
  );
}

/** The run that has not computed the displayed hour, and the way to it. */
function Behind() {
  const found = isBehind.value;
  if (!found) return null;
  return (
    <p class="behind" role="status">
      “{nameOf(found.session)}” has reached {found.reached} only.
      {found.running ? " It is computing …" : <button type="button" class="main" onClick={() => void runBehind(found)}>Run it to {found.requested}</button>}
    </p>
  );
}
