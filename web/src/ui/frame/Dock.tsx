// The dock: a list of tabs, and the panel of the selected one. In a narrow window it is a sheet at the bottom.
import type { ComponentType } from "preact";
import { dockWidth, HEIGHTS, isDockOpen, isNarrow, openDock, resizeDock, resizeSheet, sheetHeight, WIDTHS } from "../../state/layout";
import { canSteer } from "../../state/control";
import { canSetUp } from "../../state/opening";
import { hasModel, isOfAir } from "../../state/playback";
import { look, view, type Panel } from "../../state/view";
import { AboutPanel } from "../panels/AboutPanel";
import { BudgetPanel } from "../panels/BudgetPanel";
import { FieldsPanel } from "../panels/FieldsPanel";
import { OriginPanel } from "../panels/OriginPanel";
import { PlacePanel } from "../panels/PlacePanel";
import { ScenarioPanel } from "../panels/ScenarioPanel";
import { SettingsPanel } from "../panels/SettingsPanel";
import { StationsAndAnalysis } from "../panels/analysis/AnalysisSection";
import { Icon } from "./icons";

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
  { id: "scenario", name: "What if?", content: ScenarioPanel, recorded: true },
  { id: "origin", name: "Where from?", content: OriginPanel, recorded: false },
  { id: "stations", name: "Stations", content: StationsAndAnalysis, recorded: true },
  { id: "budget", name: "Budget", content: BudgetPanel, recorded: true },
  { id: "settings", name: "Settings", content: SettingsPanel, recorded: false },
  { id: "about", name: "About", content: AboutPanel, recorded: true },
];

const tabs = (): Tab[] => TABS.filter((each) => each.content && (each.recorded || canSteer() || (each.id === "origin" && (canSetUp.value || hasModel()))) && (!OF_AIR.includes(each.id) || isOfAir()));

/** Tabs that only models of air have. */
const OF_AIR: Panel[] = ["origin", "stations"];

export function Dock() {
  const all = tabs();
  const selected = all.find((each) => each.id === view.value.panel) ?? all[0];
  const Content = selected?.content ?? FieldsPanel;
  const open = isDockOpen.value;
  const size = isNarrow.value ? { height: `${100 * sheetHeight.value}dvh` } : { width: `${dockWidth.value}px` };
  return (
    <aside class="dock" aria-label="Panels" data-open={open}>
      {(open || isNarrow.value) && <Handle />}
      <div class="rail">
        <div class="tabs" role="tablist" aria-label="Panels" aria-orientation={isNarrow.value ? "horizontal" : "vertical"} onKeyDown={onKey}>
          {all.map(({ id, name }) => (
            <button key={id} type="button" role="tab" id={`tab-${id}`} aria-selected={open && id === selected?.id} aria-controls={open ? "panel" : undefined}
              tabIndex={id === selected?.id ? 0 : -1} onClick={() => select(id, open && id === selected?.id)}>
              <Icon name={id} /><span>{name}</span>
            </button>
          ))}
        </div>
        {!isNarrow.value && (
          <button type="button" class="quiet fold" title={open ? "Hide the panels (o)" : "Show the panels (o)"} aria-expanded={open} onClick={() => openDock(!open)}>
            <Icon name={open ? "hide" : "show"} /><span>{open ? "Hide" : "Show"}</span>
          </button>
        )}
      </div>
      {open && <div class="panel" id="panel" role="tabpanel" aria-labelledby={`tab-${selected?.id}`} tabIndex={0} style={size}><Content /></div>}
    </aside>
  );
}

/** Select a tab; the selected one closes the dock. */
function select(id: Panel, isShown: boolean): void {
  look({ panel: id });
  openDock(!isShown);
}

function onKey(event: KeyboardEvent): void {
  const move = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
  if (!move) return;
  const all = tabs();
  const at = all.findIndex((each) => each.id === view.value.panel);
  const next = all[(at + move + all.length) % all.length];
  if (!next) return;
  event.preventDefault();
  look({ panel: next.id });
  document.getElementById(`tab-${next.id}`)?.focus();
}

/** Change of the size per key [pixels, part of the window]. */
const STEP = { width: 24, height: 0.06 };

/** The edge of the dock, which a pointer drags and arrow keys move. */
function Handle() {
  const narrow = isNarrow.value;
  const to = (event: PointerEvent) => {
    if (!(event.currentTarget as HTMLElement).hasPointerCapture(event.pointerId)) return;
    const panel = document.getElementById("panel")?.getBoundingClientRect();
    if (narrow) resizeSheet((innerHeight - event.clientY - RAIL) / innerHeight);
    else resizeDock((panel?.right ?? innerWidth - RAIL) - event.clientX);
  };
  const [size, { least, most }] = narrow ? [sheetHeight.value, HEIGHTS] : [dockWidth.value, WIDTHS];
  return (
    <div class="handle" role="separator" tabIndex={0} aria-label={narrow ? "Height of the panels" : "Width of the panels"}
      aria-orientation={narrow ? "horizontal" : "vertical"} aria-valuenow={Math.round((100 * (size - least)) / (most - least))} aria-valuemin={0} aria-valuemax={100}
      title="Drag, or use the arrow keys" onKeyDown={onHandleKey} onPointerMove={to}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)} onDblClick={() => openDock(!isDockOpen.peek())} />
  );
}

/** Size of the list of tabs with the handle [pixels]. */
const RAIL = 74;

function onHandleKey(event: KeyboardEvent): void {
  const move = { ArrowLeft: 1, ArrowUp: 1, ArrowRight: -1, ArrowDown: -1 }[event.key];
  if (event.key === "Enter") openDock(!isDockOpen.value);
  else if (!move) return;
  else if (isNarrow.value) resizeSheet((isDockOpen.value ? sheetHeight.value : 0) + move * STEP.height);
  else resizeDock(dockWidth.value + move * STEP.width);
  event.preventDefault();
}
