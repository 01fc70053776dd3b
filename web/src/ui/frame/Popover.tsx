// A button with a small sheet below it, which closes with Escape and with a click elsewhere.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useSignal } from "@preact/signals";

interface Given {
  id: string;
  /** Name of the button for screen readers, and its explanation. */
  name: string;
  label: ComponentChildren;
  children: (close: () => void) => ComponentChildren;
}

export function Popover({ id, name, label, children }: Given) {
  const [open, place] = [useSignal(false), useRef<HTMLDivElement>(null)];
  const close = (focus = true) => {
    open.value = false;
    if (focus) place.current?.querySelector("button")?.focus();
  };
  useEffect(() => {
    if (!open.value) return undefined;
    const outside = (event: Event) => !place.current?.contains(event.target as Node) && close(false);
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, [open.value]);
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !open.value) return;
    event.stopPropagation();
    close();
  };
  return (
    <div class="popover" ref={place} onKeyDown={onKey}>
      <button type="button" class="quiet" title={name} aria-label={name} aria-expanded={open.value} aria-controls={id}
        onClick={() => (open.value = !open.value)}>{label}</button>
      {open.value && <div class="sheet" id={id} role="group" aria-label={name}>{children(close)}</div>}
    </div>
  );
}
