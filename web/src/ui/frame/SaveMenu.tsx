// Menu of the files that can be saved now: pictures, films, charts and data of the displayed view.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { errorText } from "../../maths/format";
import { possible, type Saving } from "../../state/export";
import { notify } from "../../state/store";
import { Icon } from "./icons";

export function SaveMenu() {
  const items = useSignal<Saving[] | null>(null);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const close = (back: boolean) => {
    items.value = null;
    if (back) button.current?.focus();
  };
  const open = () => {
    items.value = items.value ? null : possible();
    requestAnimationFrame(() => list.current?.querySelector("button")?.focus());
  };
  const save = (each: Saving) => {
    close(true);
    void Promise.resolve(each.save()).catch((error: unknown) => notify("problem", errorText(error)));
  };
  return (
    <div class="save" onFocusOut={(event) => !event.currentTarget.contains(event.relatedTarget as Node) && close(false)}>
      <button ref={button} type="button" class="quiet" title="Save pictures and data" aria-label="Save …" aria-haspopup="menu" aria-expanded={items.value !== null} onClick={open}>
        <Icon name="save" />
      </button>
      {items.value && (
        <div ref={list} role="menu" aria-label="Save" onKeyDown={(event) => onKey(event, list.current!, () => close(true))}>
          {items.value.map((each, k) => (
            <button key={each.id} type="button" role="menuitem" tabIndex={k ? -1 : 0} onClick={() => save(each)}>
              <span>{each.text}</span> <small>{each.kind.toUpperCase()}</small>
            </button>
          ))}
          {!items.value.length && <p class="empty">There is nothing to save yet.</p>}
        </div>
      )}
    </div>
  );
}

function onKey(event: KeyboardEvent, list: HTMLElement, close: () => void): void {
  event.stopPropagation();
  if (event.key === "Escape") return close();
  const move = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (!move) return;
  event.preventDefault();
  const all = [...list.querySelectorAll("button")];
  const at = all.indexOf(document.activeElement as HTMLButtonElement);
  all[(at + move + all.length) % all.length]?.focus();
}
