// Marks of limit values on the colour scale, with their names on hover and focus.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { fraction } from "../../maths/range";
import { limits, limitText, range } from "../../state/scale";

export function LimitMarks() {
  const named = useSignal<number | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const found = [...new Set(limits.value.map((each) => each.at))]
    .map((at) => ({ at, place: fraction(at, range.value), text: limits.value.filter((each) => each.at === at).map(limitText).join("; ") }))
    .filter((each) => each.place > 0 && each.place <= 1);
  if (!found.length) return null;
  const move = (from: number, event: KeyboardEvent) => {
    const to = { ArrowRight: from + 1, ArrowLeft: from - 1 }[event.key];
    if (to === undefined) return;
    (list.current?.children[to]?.firstElementChild as HTMLElement | undefined)?.focus();
    event.preventDefault();
  };
  const shown = named.value === null ? undefined : found[named.value];
  return (
    <>
      <ul class="limits" ref={list} aria-label="Limit values">
        {found.map(({ at, place, text }, k) => (
          <li key={at} style={{ left: `${100 * place}%` }}>
            <button type="button" aria-label={text} tabIndex={k ? -1 : 0} onKeyDown={(event) => move(k, event)}
              onFocus={() => (named.value = k)} onBlur={() => (named.value = null)} onMouseEnter={() => (named.value = k)} onMouseLeave={() => (named.value = null)} />
          </li>
        ))}
      </ul>
      {shown && <p class="limitname" data-side={shown.place > 0.5 ? "right" : "left"}>{shown.text}</p>}
    </>
  );
}
