// The dock: panels next to the map, one at a time.
import type { ComponentType } from "preact";
import { hasModel } from "../../state/playback";
import { look, view, type Panel } from "../../state/view";
import { AboutPanel } from "../panels/AboutPanel";
import { BudgetPanel } from "../panels/BudgetPanel";
import { FieldsPanel } from "../panels/FieldsPanel";
import { PlacePanel } from "../panels/PlacePanel";
import { ScenarioPanel } from "../panels/ScenarioPanel";
import { SettingsPanel } from "../panels/SettingsPanel";

interface Tab {
  id: Panel;
  name: string;
  /** The panel; without one the tab is hidden. */
  content: ComponentType | null;
  /** Whether a recorded run without a model has it. */
  recorded: boolean;
}

const TABS: Tab[] = [
  { id: "fields", name: "Fields", content: FieldsPanel, recorded: true },
  { id: "place", name: "Place", content: PlacePanel, recorded: true },
  { id: "scenario", name: "What if?", content: ScenarioPanel, recorded: false },
  { id: "origin", name: "Where from?", content: null, recorded: false },
  { id: "stations", name: "Stations", content: null, recorded: true },
  { id: "budget", name: "Budget", content: BudgetPanel, recorded: true },
  { id: "settings", name: "Settings", content: SettingsPanel, recorded: false },
  { id: "about", name: "About", content: AboutPanel, recorded: true },
];

const tabs = (): Tab[] => TABS.filter((each) => each.content && (each.recorded || hasModel()));

export function Dock() {
  const all = tabs();
  const selected = all.find((each) => each.id === view.value.panel) ?? all[0];
  const Content = selected?.content ?? FieldsPanel;
  return (
    <aside class="dock" aria-label="Panels">
      <div class="tabs" role="tablist" aria-label="Panels" onKeyDown={onKey}>
        {all.map(({ id, name }) => (
          <button key={id} type="button" role="tab" id={`tab-${id}`} aria-selected={id === selected?.id} aria-controls="panel"
            tabIndex={id === selected?.id ? 0 : -1} onClick={() => look({ panel: id })}>{name}</button>
        ))}
      </div>
      <div class="panel" id="panel" role="tabpanel" aria-labelledby={`tab-${selected?.id}`} tabIndex={0}><Content /></div>
    </aside>
  );
}

function onKey(event: KeyboardEvent): void {
  const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!move) return;
  const all = tabs();
  const at = all.findIndex((each) => each.id === view.value.panel);
  const next = all[(at + move + all.length) % all.length];
  if (!next) return;
  event.preventDefault();
  look({ panel: next.id });
  document.getElementById(`tab-${next.id}`)?.focus();
}
