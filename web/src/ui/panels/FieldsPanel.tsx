// The selected field and its display options.
import { unit, units } from "../../state/scale";
import { variable } from "../../state/store";
import { look, view, type Wind } from "../../state/view";
import { winds } from "../../state/wind";
import { FieldPicker } from "./FieldPicker";
import { LevelSlider } from "./LevelSlider";

export function FieldsPanel() {
  const selected = variable.value;
  return (
    <>
      <FieldPicker />
      <LevelSlider />
      {selected && <Units />}
      <fieldset>
        <legend>On the map</legend>
        <Check name="smooth" text="Smooth field" />
        <Check name="contours" text="Contours" />
        <Check name="lines" text="Coasts and borders" />
        <Check name="cities" text="Cities" />
        {winds.value && (
          <label class="field">Wind
            <select value={view.value.wind} onChange={(event) => look({ wind: event.currentTarget.value as Wind })}>
              <option value="none">none</option>
              <option value="arrows">arrows</option>
              <option value="particles">particles</option>
            </select>
          </label>
        )}
      </fieldset>
    </>
  );
}

function Check({ name, text }: { name: "smooth" | "contours" | "lines" | "cities"; text: string }) {
  return (
    <label class="check">
      <input type="checkbox" checked={view.value[name]} onChange={(event) => look({ [name]: event.currentTarget.checked })} /> {text}
    </label>
  );
}

function Units() {
  if (units.value.length < 2) return null;
  return (
    <label class="field">Unit
      <select value={unit.value?.id} onChange={(event) => look({ unit: event.currentTarget.value, range: null })}>
        {units.value.map((each) => <option key={each.id} value={each.id}>{each.label}</option>)}
      </select>
    </label>
  );
}
