// The menu of the colour scale: its range, logarithmic or not, and its colour table.
import { gradient, NAMES, textOf } from "../../maths/colours";
import { colours, comparing, positive, range } from "../../state/scale";
import { look, view } from "../../state/view";

type Kind = "fixed" | "map" | "own";

const KINDS: [Kind, string, string][] = [
  ["fixed", "the same at all hours", "The usual range of this field: colours have the same meaning at all hours and in all runs"],
  ["map", "that of the map", "From the lowest to the highest value that is shown now"],
  ["own", "own numbers", "Numbers that you choose; they are part of the link"],
];

const kindOf = (): Kind => (view.value.range === null ? "fixed" : view.value.range === "map" ? "map" : "own");

function choose(kind: Kind): void {
  look({ range: kind === "fixed" ? null : kind === "map" ? "map" : [range.value.low, range.value.high] });
}

export function ScaleMenu() {
  const kind = kindOf();
  return (
    <div class="scalemenu">
      <fieldset>
        <legend>Range</legend>
        {KINDS.filter(([each]) => !comparing.value || each !== "own").map(([each, text, title]) => (
          <label class="check" key={each} title={title}><input type="radio" name="range" checked={kind === each} onChange={() => choose(each)} /> {text}</label>
        ))}
        {kind === "own" && !comparing.value && <Bounds />}
      </fieldset>
      {!comparing.value && (
        <label class="check">
          <input type="checkbox" checked={range.value.log} disabled={!positive.value} onChange={(event) => look({ log: event.currentTarget.checked })} /> logarithmic
        </label>
      )}
      {!comparing.value && (
        <label class="field">Colours
          <select value={view.value.colours ?? ""} onChange={(event) => look({ colours: event.currentTarget.value || null })}>
            <option value="">usual for this field</option>
            {NAMES.map((name) => <option key={name} value={name}>{textOf(name)}</option>)}
          </select>
          <span class="sample" style={{ background: gradient(colours.value) }} />
        </label>
      )}
    </div>
  );
}

function Bounds() {
  const { low, high } = range.value;
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
