// List of fields in groups, with search and favourites: one tab stop, moved through by arrow keys.
import { useComputed, useSignal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Variable } from "../../protocol/types";
import { favourites, toggleFavourite } from "../../state/favourites";
import { fieldText, formulaOf, found, grouped, inOrder, titleOf, type FieldGroup } from "../../state/fields";
import { chooseField } from "../../state/goto";
import { info, variables } from "../../state/store";
import { view } from "../../state/view";

/** A row of the list: a field may be in two groups. */
interface Row {
  id: string;
  field: Variable;
}

export function FieldPicker() {
  const search = useSignal("");
  const active = useSignal<string | null>(null);
  const groups = useComputed<FieldGroup[]>(() => {
    const all = inOrder(variables.value, info.value?.shown ?? []);
    return search.value ? [{ title: "Found", fields: found(all, search.value) }] : grouped(all, favourites.value);
  });
  const rows = useComputed<Row[]>(() => groups.value.flatMap(({ title, fields }) => fields.map((field) => ({ id: idOf(title, field), field }))));
  const current = useComputed(() => currentRow(rows.value, active.value, search.value !== ""));
  useEffect(() => document.getElementById(current.value?.id ?? "")?.scrollIntoView({ block: "nearest" }), [current.value?.id]);
  return (
    <section class="picker">
      <label class="field">Find a field
        <input id="search" type="search" list={undefined} role="combobox" aria-expanded="true" aria-controls="fields" aria-autocomplete="list" aria-activedescendant={current.value?.id}
          value={search.value} placeholder="a name, a symbol, a word …" autocomplete="off"
          onInput={(event) => {
            search.value = event.currentTarget.value;
            active.value = null;
          }}
          onKeyDown={(event) => onKey(event, rows, current, active)} />
      </label>
      <List groups={groups.value} current={current.value?.id ?? null} />
      {!rows.value.length && info.value && <p class="empty" role="status">No field matches.</p>}
      <Chosen />
    </section>
  );
}

const idOf = (group: string, field: Variable): string => `field-${group.replaceAll(" ", "-")}-${field.name}`;

/** Return the row that keys move from: the active one, the best match of a search, or the displayed field. */
function currentRow(rows: Row[], active: string | null, searching: boolean): Row | null {
  const here = rows.find((each) => each.id === active);
  const displayed = rows.find((each) => each.field.name === view.value.variable);
  return here ?? (searching ? rows[0] : displayed) ?? null;
}

function onKey(event: KeyboardEvent, rows: ReadonlySignal<Row[]>, current: ReadonlySignal<Row | null>, active: Signal<string | null>): void {
  const move = { ArrowUp: -1, ArrowDown: 1, PageUp: -8, PageDown: 8 }[event.key];
  if (event.key === "Enter" && current.value) return chooseField(current.value.field);
  if (!move || !rows.value.length) return;
  event.preventDefault();
  const at = rows.value.findIndex((each) => each.id === current.value?.id);
  active.value = rows.value[Math.min(Math.max(at + move, 0), rows.value.length - 1)]?.id ?? null;
}

function List({ groups, current }: { groups: FieldGroup[]; current: string | null }) {
  return (
    <div class="fields" id="fields" role="listbox" aria-label="Fields">
      {groups.map(({ title, fields }) => fields.length > 0 && (
        <div key={title} role="group" aria-label={title}>
          <h3 aria-hidden="true">{title}</h3>
          {fields.map((each) => <Option key={each.name} id={idOf(title, each)} of={each} active={idOf(title, each) === current} />)}
        </div>
      ))}
    </div>
  );
}

function Option({ id, of, active }: { id: string; of: Variable; active: boolean }) {
  const starred = favourites.value.includes(of.name);
  const star = (event: MouseEvent) => {
    event.stopPropagation();
    toggleFavourite(of.name);
  };
  return (
    <div id={id} role="option" class="option" aria-selected={of.name === view.value.variable} aria-label={fieldText(of)} data-active={active}
      data-name={of.name} title={of.text} onClick={() => chooseField(of)}>
      <b>{titleOf(of)}</b> <span>{formulaOf(of)}</span>
      <i class="star" data-on={starred} title={starred ? "Remove from favourites" : "Add to favourites"} onClick={star}>{starred ? "★" : "☆"}</i>
    </div>
  );
}

/** The displayed field: its description, and whether it is a favourite. */
function Chosen() {
  const field = variables.value.find((each) => each.name === view.value.variable);
  if (!field) return null;
  const starred = favourites.value.includes(field.name);
  return (
    <div class="chosen">
      <p>{field.text}{field.text.includes(field.name) || formulaOf(field) === field.name ? "" : ` (${field.name})`}</p>
      <button type="button" class="quiet" aria-pressed={starred} aria-label={`${titleOf(field)} is a favourite`} onClick={() => toggleFavourite(field.name)}>
        {starred ? "★" : "☆"} Favourite
      </button>
    </div>
  );
}
