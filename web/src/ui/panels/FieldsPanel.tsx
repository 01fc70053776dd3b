// The selected field and its display options.
import { useSignal } from "@preact/signals";
import { NAMES } from "../../maths/colours";
import { number } from "../../maths/format";
import { unitsOf } from "../../maths/units";
import type { Variable } from "../../protocol/types";
import { unit } from "../../state/scale";
import { air, info, level, variable, variables } from "../../state/store";
import { save } from "../../state/files";
import { look, view, type Wind } from "../../state/view";
import { winds } from "../../state/wind";

export function FieldsPanel() {
  const selected = variable.value;
  return (
    <>
      <Picker />
      {selected && selected.dims.length > 2 && <Levels selected={selected} />}
      {selected && <Units selected={selected} />}
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
        <label class="field">Colours
          <select value={view.value.colours ?? ""} onChange={(event) => look({ colours: event.currentTarget.value || null })}>
            <option value="">default</option>
            {NAMES.map((name) => <option key={name}>{name}</option>)}
          </select>
        </label>
      </fieldset>
      {selected && (
        <div class="actions" role="group" aria-label="Save">
          <button type="button" onClick={() => void save("png", selected)} title="A map of the field as it is now">Save as PNG</button>
          <button type="button" onClick={() => void save("netcdf", selected)} title="The field as it is now, all levels">Save as netCDF</button>
        </div>
      )}
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

const MOST = 200;

function Picker() {
  const search = useSignal("");
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (each: Variable) => words.every((word) => `${each.name} ${each.text}`.toLowerCase().includes(word));
  const found = variables.value.filter(fits);
  return (
    <section class="picker">
      <label class="field">Find a field
        <input id="search" type="search" value={search.value} placeholder="ozone, soil water …" autocomplete="off"
          onInput={(event) => (search.value = event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && found[0] && choose(found[0])} />
      </label>
      <ul class="list" aria-label="Fields">
        {found.slice(0, MOST).map((each) => (
          <li key={each.name}>
            <button type="button" aria-pressed={each.name === view.value.variable} onClick={() => choose(each)}>
              <b>{each.name}</b> <span>{each.text}</span>
            </button>
          </li>
        ))}
      </ul>
      {!found.length && info.value && <p class="empty">No field matches.</p>}
    </section>
  );
}

function choose(each: Variable): void {
  look({ variable: each.name, unit: null, range: null, log: false });
}

function Levels({ selected }: { selected: Variable }) {
  const count = selected.shape[0] ?? 1;
  const heights = info.value?.grid.levels ?? [];
  const height = heights.length === count ? `${number(heights[level.value] ?? NaN, 4)} m` : `${level.value}`;
  return (
    <label class="field"><span>Level <b>{height}</b></span>
      <input type="range" min={0} max={count - 1} value={level.value} aria-valuetext={height}
        onInput={(event) => look({ level: event.currentTarget.valueAsNumber })} />
    </label>
  );
}

function Units({ selected }: { selected: Variable }) {
  const units = unitsOf(selected, air.value !== null);
  if (units.length < 2) return null;
  return (
    <label class="field">Unit
      <select value={unit.value?.id} onChange={(event) => look({ unit: event.currentTarget.value, range: null })}>
        {units.map((each) => <option key={each.id} value={each.id}>{each.label}</option>)}
      </select>
    </label>
  );
}
