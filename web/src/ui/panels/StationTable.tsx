// The stations as a table, sorted by a column; the rows are one tab stop.
import { useSignal } from "@preact/signals";
import { number } from "../../maths/format";
import { chooseStation } from "../../state/stations";
import { view } from "../../state/view";

export interface Row {
  id: string;
  name: string;
  kind: string;
  hours: number;
  bias: number;
  r: number;
  rmse: number;
}

type Column = "name" | "bias" | "r" | "rmse" | "hours";
const COLUMNS: [Column, string][] = [["name", "Station"], ["bias", "Bias"], ["r", "r"], ["rmse", "RMSE"], ["hours", "Hours"]];

/** Return rows in the order of a column: names from A to Z, numbers from the largest down, missing ones last. */
export function sorted(rows: readonly Row[], by: Column): Row[] {
  const size = (value: number) => (Number.isFinite(value) ? (by === "bias" ? Math.abs(value) : value) : -Infinity);
  return [...rows].sort((one, other) => (by === "name" ? one.name.localeCompare(other.name) : size(other[by]) - size(one[by])));
}

export function StationTable({ rows }: { rows: readonly Row[] }) {
  const by = useSignal<Column>("name");
  const all = sorted(rows, by.value);
  const current = Math.max(all.findIndex((each) => each.id === view.value.station), 0);
  const move = (event: KeyboardEvent, from: number) => {
    const to = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") chooseStation(all[from]!.id);
    else if (to === undefined) return;
    else (event.currentTarget as HTMLElement).parentElement?.children[Math.min(Math.max(to, 0), all.length - 1)]?.querySelector<HTMLElement>("[data-row]")?.focus();
    event.preventDefault();
    event.stopPropagation();
  };
  if (!all.length) return null;
  return (
    <section>
      <div class="row">
        <h3>Stations</h3>
        <label class="inline">sorted by <select value={by.value} onChange={(event) => (by.value = event.currentTarget.value as Column)}>
          {COLUMNS.map(([id, name]) => <option key={id} value={id}>{name}</option>)}
        </select></label>
      </div>
      <div class="wide">
        <table class="numbers stations">
          <thead><tr>{COLUMNS.map(([id, name]) => <th key={id} scope="col" aria-sort={id === by.value ? (id === "name" ? "ascending" : "descending") : "none"}>{name}</th>)}</tr></thead>
          <tbody>
            {all.map((each, k) => (
              <tr key={each.id} aria-selected={each.id === view.value.station} onClick={() => chooseStation(each.id)} onKeyDown={(event) => move(event, k)}>
                <th scope="row"><button type="button" class="link" data-row tabIndex={k === current ? 0 : -1} title={each.kind}>{each.name}</button></th>
                <td>{number(each.bias)}</td><td>{number(each.r, 2)}</td><td>{number(each.rmse)}</td><td>{each.hours}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
