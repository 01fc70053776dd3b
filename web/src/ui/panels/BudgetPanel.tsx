// Budgets and other tables that the model computes, as at the end of a run.
import { useComputed, useSignal, type ReadonlySignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { number } from "../../maths/format";
import type { Summary, SummaryTable } from "../../protocol/types";
import { link, summary, variable } from "../../state/store";
import { view } from "../../state/view";

/** Number of rows above which a table gets a search field. */
const LONG = 12;

export function BudgetPanel() {
  const found = useSummary();
  if (!found.value) return <p class="empty" role="status">Computing the budget …</p>;
  return (
    <>
      <Chosen tables={found.value.tables} />
      {found.value.tables.map((each) => <Table key={each.title} of={each} />)}
      <section>
        <h2>Totals</h2>
        <dl class="facts">
          {Object.entries(found.value.facts).map(([name, fact]) => <div key={name}><dt>{name}</dt><dd>{text(fact)}</dd></div>)}
        </dl>
      </section>
    </>
  );
}

/** Subscribe to the budgets of the selected session while the panel is open. */
function useSummary(): ReadonlySignal<Summary | null> {
  const name = view.value.session;
  useEffect(() => {
    link.subscribeBudgets(name);
    return () => link.subscribeBudgets(null);
  }, [name]);
  return useComputed(() => (summary.value?.state.session === view.value.session ? summary.value : null));
}

/** Rows of the tables for the selected field, from top to bottom. */
function Chosen({ tables }: { tables: SummaryTable[] }) {
  const name = variable.value?.name;
  const found = tables.flatMap((of) => {
    const rows = of.rows.filter((row) => row[0] === name);
    return rows.length === 1 && rows[0] ? [{ of, row: rows[0] }] : [];
  });
  if (!found.length) return null;
  return (
    <section aria-label={`Budget of ${name}`}>
      <h2>{name}</h2>
      {found.map(({ of, row }) => (
        <table key={of.title}>
          <caption>{of.title}</caption>
          <tbody>{of.columns.slice(1).map((each, k) => <tr key={each}><th scope="row">{each}</th><td>{text(row[k + 1] ?? null)}</td></tr>)}</tbody>
        </table>
      ))}
    </section>
  );
}

function Table({ of }: { of: SummaryTable }) {
  const search = useSignal("");
  const words = search.value.toLowerCase();
  const rows = of.rows.filter((row) => String(row[0]).toLowerCase().includes(words));
  const many = of.rows.length > LONG;
  return (
    <details open={!many || of.title.startsWith("Budget")}>
      <summary>{of.title}</summary>
      <div>
        {many && (
          <label class="field">Find a {of.columns[0]}
            <input type="search" value={search.value} autocomplete="off" onInput={(event) => (search.value = event.currentTarget.value)} />
          </label>
        )}
        <div class="wide" tabIndex={0} role="region" aria-label={of.title}>
          <table class="numbers">
            <thead><tr>{of.columns.map((each) => <th key={each} scope="col">{each}</th>)}</tr></thead>
            <tbody>
              {rows.map((row) => (
                <tr key={String(row[0])}>
                  {row.map((cell, k) => (k ? <td key={of.columns[k]}>{text(cell)}</td> : <th key={of.columns[k]} scope="row">{text(cell)}</th>))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {of.note && <p class="empty">{of.note}</p>}
      </div>
    </details>
  );
}

function text(cell: string | number | boolean | null): string {
  return typeof cell === "number" ? number(cell) : cell === null ? "–" : String(cell);
}
