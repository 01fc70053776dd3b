// The panels next to the map, one at a time.
import type { ComponentType } from "preact";
import { hasModel } from "../state/playback";
import { look, view, type Panel } from "../state/view";
import { AboutPanel } from "./AboutPanel";
import { BudgetPanel } from "./BudgetPanel";
import { PlacePanel } from "./PlacePanel";
import { RunsPanel } from "./RunsPanel";
import { SteerPanel } from "./SteerPanel";
import { ViewPanel } from "./ViewPanel";

const PANELS: [Panel, string, ComponentType][] = [
  ["view", "View", ViewPanel], ["place", "Place", PlacePanel], ["steer", "Steer", SteerPanel], ["runs", "Runs", RunsPanel],
  ["budget", "Budget", BudgetPanel], ["about", "About", AboutPanel],
];

/** Panels that need a model. */
const OF_MODEL: Panel[] = ["steer", "runs"];

export function Side() {
  const panels = PANELS.filter(([id]) => hasModel() || !OF_MODEL.includes(id));
  const Shown = panels.find(([id]) => id === view.value.panel)?.[2] ?? ViewPanel;
  return (
    <aside class="side" aria-label="Panels">
      <div class="tabs" role="tablist" aria-label="Panels" onKeyDown={onKey}>
        {panels.map(([id, text]) => (
          <button key={id} type="button" role="tab" id={`tab-${id}`} aria-selected={view.value.panel === id} aria-controls="panel"
            tabIndex={view.value.panel === id ? 0 : -1} onClick={() => look({ panel: id })}>{text}</button>
        ))}
      </div>
      <div class="panel" id="panel" role="tabpanel" aria-labelledby={`tab-${view.value.panel}`} tabIndex={0}><Shown /></div>
    </aside>
  );
}

function onKey(event: KeyboardEvent): void {
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!move) return;
  const at = PANELS.findIndex(([id]) => id === view.value.panel);
  const next = PANELS[(at + move + PANELS.length) % PANELS.length];
  if (!next) return;
  event.preventDefault();
  look({ panel: next[0] });
  document.getElementById(`tab-${next[0]}`)?.focus();
}
