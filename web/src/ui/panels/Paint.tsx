// Painting into a field: a polygon on the map, and the operation on its cells.
import { useSignal } from "@preact/signals";
import { change } from "../../state/actions";
import { unit } from "../../state/scale";
import { level, placeOf, variable, variables } from "../../state/store";
import { choose, drawn, tool } from "../../state/tools";
import { Number } from "./Release";

const OPERATIONS = { set: "set to", add: "add", multiply: "multiply by" } as const;
type Operation = keyof typeof OPERATIONS;

export function Paint() {
  const operation = useSignal<Operation>("multiply");
  const value = useSignal(2);
  const selected = variable.value;
  const drawing = tool.value === "paint";
  if (!selected) return null;
  if (!selected.paintable) return <p class="empty">{selected.name} cannot be painted. Select one of the fields that can: {paintable()}.</p>;
  const scale = unit.value && !unit.value.byAir ? unit.value : null;
  const inUnit = operation.value === "multiply" ? "" : ` [${scale?.label ?? selected.unit}]`;
  const corners = drawn.value.map(placeOf).filter((each) => each !== null); // none before the places of a projected map arrive
  const paint = async (event: Event) => {
    event.preventDefault();
    const done = await change(
      {
        kind: "paint", variable: selected.name, operation: operation.value, value: inOwnUnit(value.value, operation.value, scale),
        polygon: corners.map(([lon, lat]): [number, number] => [lon, lat]), level: selected.dims.length > 2 ? level.value : 0,
      },
      `${selected.name} was painted.`,
    );
    if (done) choose("place");
  };
  return (
    <details class="paint" open={drawing}>
      <summary>Paint {selected.name}</summary>
      <form onSubmit={(event) => void paint(event)}>
        <fieldset>
          <legend class="hidden">Paint</legend>
          <button type="button" aria-pressed={drawing} onClick={() => choose(drawing ? "place" : "paint")}>
            {drawing ? `Click the corners on the map (${drawn.value.length} so far), or click here to restart` : "Draw an area on the map"}
          </button>
          <div class="pair">
            <label class="field">Each cell
              <select value={operation.value} onChange={(event) => (operation.value = event.currentTarget.value as Operation)}>
                {Object.entries(OPERATIONS).map(([key, text]) => <option key={key} value={key}>{text}</option>)}
              </select>
            </label>
            <Number label={`Value${inUnit}`} value={value.value} set={(next) => (value.value = next)} />
          </div>
          <button type="submit" class="main" disabled={corners.length < 3}>Paint</button>
        </fieldset>
      </form>
    </details>
  );
}

/** Return the names of some fields that can be painted. */
function paintable(): string {
  return variables.value.filter((each) => each.paintable).slice(0, 4).map((each) => each.name).join(", ");
}

/** Return a value in the variable's own unit, as the server requires. */
function inOwnUnit(value: number, operation: Operation, scale: { factor: number; offset: number } | null): number {
  if (operation === "multiply" || !scale) return value;
  return (value - (operation === "set" ? scale.offset : 0)) / scale.factor;
}
