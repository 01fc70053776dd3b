// The tables of a summary with their search fields.
import { useSignal } from "@preact/signals";
import { number } from "../../maths/format";
import type { SummaryTable } from "../../protocol/types";

/** Number of rows above which a table gets a search field. */
const LONG = 12;

export function SummaryTables({ tables }: { tables: SummaryTable[] }) {
  return <>{tables.map((each) => <Table key={each.title} of={each} />)}</>;
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
