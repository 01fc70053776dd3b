// Search field of the top bar: a place or a field by its name.
import { useComputed, useSignal } from "@preact/signals";
import { titleOf } from "../../state/fields";
import { destinations, type Destination } from "../../state/goto";
import { geography, variables } from "../../state/store";

const KINDS = { place: "place", field: "field" } as const;

export function GoTo() {
  const text = useSignal("");
  const active = useSignal(0);
  const open = useSignal(false);
  const found = useComputed<Destination[]>(() => destinations(text.value));
  const example = useComputed(() => `Go to ${[geography.value?.cities[0]?.name, variables.value[0] && titleOf(variables.value[0])].filter(Boolean).join(", ") || "a place"} …`);
  const shown = open.value && text.value.trim() !== "";
  const go = (each: Destination | undefined, from: EventTarget | null) => {
    if (!each) return;
    each.go();
    text.value = "";
    open.value = false;
    if (from instanceof HTMLElement) from.blur(); // keys steer the page again
  };
  const onKey = (event: KeyboardEvent) => {
    const move = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === "Enter") go(found.value[active.value], event.target);
    else if (event.key === "Escape") open.value = false;
    else if (move) active.value = Math.min(Math.max(active.value + move, 0), found.value.length - 1);
    if (move) event.preventDefault();
  };
  return (
    <div class="goto">
      <input type="search" list={undefined} role="combobox" aria-label="Go to a place or a field" aria-expanded={shown} aria-controls="goto-list" aria-autocomplete="list"
        aria-activedescendant={shown ? found.value[active.value]?.id : undefined} placeholder={example.value} autocomplete="off" value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          active.value = 0;
          open.value = true;
        }}
        onBlur={() => (open.value = false)} onKeyDown={onKey} />
      <div id="goto-list" role="listbox" aria-label="Places and fields" hidden={!shown}>
        {found.value.map((each, k) => (
          <div key={each.id} id={each.id} role="option" class="option" aria-selected={k === active.value}
            onPointerDown={(event) => {
              event.preventDefault();
              go(each, document.activeElement);
            }}>
            <b>{each.text}</b> <span>{KINDS[each.kind]}</span>
          </div>
        ))}
        {shown && !found.value.length && <p role="option" aria-selected="false" class="empty">Nothing on this map has that name.</p>}
      </div>
    </div>
  );
}
