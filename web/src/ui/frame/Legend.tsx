// The colour scale: its range, its ticks and its controls.
import { useSignal } from "@preact/signals";
import { gradient } from "../../maths/colours";
import { number } from "../../maths/format";
import { fraction, ticks } from "../../maths/range";
import { lockRange, nextUnit } from "../../state/bindings";
import { colours, comparing, range, unit } from "../../state/scale";
import { variable } from "../../state/store";
import { look, view } from "../../state/view";
import { Icon } from "./icons";

/** Names longer than this are replaced by their description. */
const LONG = 12;

export function Legend() {
  const open = useSignal(false);
  const selected = variable.value;
  if (!selected || !unit.value) return null;
  const { low, high } = range.value;
  const locked = view.value.range !== null;
  const name = selected.name.length > LONG && selected.text ? selected.text : selected.name;
  const title = comparing.value ? `Difference of ${name}` : name;
  return (
    <section class="legend" aria-label="Colour scale" data-low={low} data-high={high} data-log={range.value.log} data-colours={colours.value}>
      <div class="row">
        <strong title={selected.text}>{title}</strong>
        <button type="button" class="quiet" onClick={nextUnit} title="Next unit (u)" aria-label={`Unit ${unit.value.label}; next unit`}>
          {unit.value.label || "1"}
        </button>
        <button type="button" class="quiet" aria-pressed={view.value.log} disabled={comparing.value} title="Logarithmic scale (l)"
          onClick={() => look({ log: !view.value.log, range: null })}>log</button>
        <button type="button" class="quiet" aria-pressed={locked} disabled={comparing.value} onClick={lockRange}
          title="Lock the range (r)" aria-label="Lock the range"><Icon name="lock" /></button>
        <button type="button" class="quiet" aria-expanded={open.value} disabled={comparing.value} onClick={() => (open.value = !open.value)}>range</button>
      </div>
      <div class="bar" style={{ background: gradient(colours.value) }} role="img"
        aria-label={`Colours from ${number(low)} to ${number(high)} ${unit.value.label}`} />
      <div class="ticks" aria-hidden="true">
        {ticks(range.value, 4).map((each) => (
          <span key={each} style={{ left: `${100 * fraction(each, range.value)}%` }} data-edge={edgeOf(fraction(each, range.value))}>{number(each)}</span>
        ))}
      </div>
      {open.value && !comparing.value && <Bounds low={low} high={high} />}
    </section>
  );
}

const edgeOf = (at: number): string => (at < 0.04 ? "left" : at > 0.96 ? "right" : "");

function Bounds({ low, high }: { low: number; high: number }) {
  const set = (next: [number, number]) => {
    if (next.every(Number.isFinite) && next[0] < next[1]) look({ range: next });
  };
  return (
    <div class="row bounds">
      <label>from <input type="number" step="any" value={Number(low.toPrecision(4))}
        onChange={(event) => set([event.currentTarget.valueAsNumber, high])} /></label>
      <label>to <input type="number" step="any" value={Number(high.toPrecision(4))}
        onChange={(event) => set([low, event.currentTarget.valueAsNumber])} /></label>
    </div>
  );
}
