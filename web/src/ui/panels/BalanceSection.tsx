// A balance as bars: terms that add to an amount, and terms that take from it.
import { number } from "../../maths/format";
import type { Balance, Term } from "../../state/budget";

export function BalanceSection({ of }: { of: Balance }) {
  const largest = Math.max(...of.terms.map((each) => Math.abs(each.value)), Math.abs(of.change)) || 1;
  const change = { name: "Change", explanation: of.change < 0 ? "There is less than at the start." : "There is more than at the start.", value: of.change };
  return (
    <section aria-label={of.title}>
      <h2>{of.title}</h2>
      <ul class="balance">
        {of.terms.map((each) => <Row key={each.name} of={each} unit={of.unit} largest={largest} />)}
        <Row of={change} unit={of.unit} largest={largest} sum />
      </ul>
      {of.check && <p class="empty">{of.check}</p>}
    </section>
  );
}

function Row({ of, unit, largest, sum = false }: { of: Term; unit: string; largest: number; sum?: boolean }) {
  const share = (100 * Math.abs(of.value)) / largest;
  return (
    <li class={sum ? "sum" : ""}>
      <span class="term"><b>{of.name}</b> <b>{signed(of.value)} {unit}</b></span>
      <span class="bars" aria-hidden="true"><i data-sign={of.value < 0 ? "less" : "more"} style={{ width: `${share / 2}%` }} /></span>
      <small>{of.explanation}</small>
    </li>
  );
}

const signed = (value: number): string => (value > 0 ? `+${number(value)}` : number(value));
