// The values of a chart as a table for screen readers.
import { number } from "../maths/format";
import { textAt, type Axis } from "./axes";
import { positions, valueOf, type Along, type Curve } from "./curves";

const MOST_ROWS = 60;

interface Props {
  label: string;
  curves: readonly Curve[];
  along: Along;
  shared: Axis;
  values: Axis;
}

export function ChartTable({ label, curves, along, shared, values }: Props) {
  const all = positions(curves, along);
  const every = Math.ceil(all.length / MOST_ROWS);
  return (
    <div class="hidden">
      <table>
        <caption>{label}{values.label ? `, in ${values.label}` : ""}</caption>
        <thead><tr><th scope="col">{along === "x" ? "Time" : "Height"}</th>{curves.map((each) => <th key={each.name} scope="col">{each.name}</th>)}</tr></thead>
        <tbody>
          {all.filter((_, k) => k % every === 0).map((at) => (
            <tr key={at}><th scope="row">{textAt(at, shared)}</th>{curves.map((each) => <td key={each.name}>{number(valueOf(each, at, along))}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
