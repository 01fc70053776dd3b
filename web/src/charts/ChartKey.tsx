// Key of a chart: the names of the curves, each a button that hides its curve.
import type { Signal } from "@preact/signals";
import type { Curve } from "./curves";

export function ChartKey({ curves, hidden }: { curves: readonly Curve[]; hidden: Signal<ReadonlySet<string>> }) {
  const toggle = (name: string) => {
    const next = new Set(hidden.value);
    if (!next.delete(name)) next.add(name);
    hidden.value = next;
  };
  return (
    <div class="curves" role="group" aria-label="Curves">
      {curves.map((each) => (
        <button key={each.name} type="button" class="quiet" aria-pressed={!hidden.value.has(each.name)} onClick={() => toggle(each.name)}
          title={hidden.value.has(each.name) ? "Show this curve" : "Hide this curve"}>
          <svg width="18" height="10" aria-hidden="true">
            {each.dots
              ? <circle cx="9" cy="5" r="3.5" fill={each.colour} />
              : <line x1="1" x2="17" y1="5" y2="5" stroke={each.colour} stroke-width="2.5" stroke-dasharray={each.dashed ? "5 3" : undefined} />}
          </svg>
          {each.name}
        </button>
      ))}
    </div>
  );
}
