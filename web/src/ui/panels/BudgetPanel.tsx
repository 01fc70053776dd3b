// Budgets in words and bars, and all tables that the model computes, as at the end of a run.
import { useComputed, useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { number } from "../../maths/format";
import type { Summary } from "../../protocol/types";
import { budgeted, landBalances, speciesBalance } from "../../state/budget";
import { fieldText, formulaOf, titleOf } from "../../state/fields";
import { http, link, summary, variable, variables } from "../../state/store";
import { view } from "../../state/view";
import { BalanceSection } from "./BalanceSection";
import { SummaryTables } from "./SummaryTables";

export function BudgetPanel() {
  const found = useSummary();
  if (!found.value) return <p class="empty" role="status">Computing the budget …</p>;
  const { tables, facts } = found.value;
  const land = landBalances(tables);
  return (
    <>
      {land.length ? land.map((each) => <BalanceSection key={each.title} of={each} />) : <Species of={found.value} />}
      <details>
        <summary>All tables</summary>
        <div><SummaryTables tables={tables} /></div>
      </details>
      {Object.keys(facts).length > 0 && (
        <details>
          <summary>The run in figures</summary>
          <dl class="facts">
            {Object.entries(facts).map(([name, fact]) => <div key={name}><dt>{name}</dt><dd>{typeof fact === "number" ? number(fact) : String(fact ?? "–")}</dd></div>)}
          </dl>
        </details>
      )}
    </>
  );
}

/** Subscribe to the budgets of the selected session while the panel is open; the first one comes by HTTP, also from a site. */
function useSummary(): ReadonlySignal<Summary | null> {
  const name = view.value.session;
  useEffect(() => {
    const first = (found: Summary) => {
      if (summary.value?.state.session !== name) summary.value = found;
    };
    void http.get<Summary>(`/sessions/${name}/summary`).then(first, () => undefined);
    link.subscribeBudgets(name);
    return () => link.subscribeBudgets(null);
  }, [name]);
  return useComputed(() => (summary.value?.state.session === view.value.session ? summary.value : null));
}

/** The budget of a species: of the displayed field, or of another one. */
function Species({ of }: { of: Summary }) {
  const chosen = useSignal<string | null>(null);
  const inMoles = useSignal(false);
  const names = budgeted(of.tables);
  const all = variables.value.filter((each) => names.includes(each.name));
  const selected = all.find((each) => each.name === (chosen.value ?? variable.value?.name)) ?? all.find((each) => each.name === "O3") ?? all[0];
  if (!selected) return <p class="empty">This run has no budget.</p>;
  const balance = speciesBalance(of.tables, selected, inMoles.value);
  return (
    <>
      <label class="field">Budget of
        <select value={selected.name} onChange={(event) => (chosen.value = event.currentTarget.value)}>
          {all.map((each) => <option key={each.name} value={each.name}>{fieldText(each)}</option>)}
        </select>
      </label>
      {balance && <BalanceSection of={{ ...balance, title: `${titleOf(selected)} ${formulaOf(selected)} since the start` }} />}
      {selected.molar_mass !== null && (
        <label class="check"><input type="checkbox" checked={inMoles.value} onChange={(event) => (inMoles.value = event.currentTarget.checked)} /> in moles</label>
      )}
    </>
  );
}
