// Which frames the page asks for: whatever what is looked at needs, and nothing else.
import { computed, effect } from "@preact/signals";
import { AIR, unitFor, unitsOf } from "../maths/units";
import type { Subscription } from "../protocol/types";
import { hasAir, info, level, link, variable } from "./store";
import { view } from "./view";

/** The sessions whose maps are shown. */
export const watched = computed<string[]>(() => {
  const { session, other } = view.value;
  return other && other !== session ? [session, other] : [session];
});

const wanted = computed<Subscription[]>(() => {
  const what = variable.value;
  if (!info.value || !what) return [];
  const { unit, session } = view.value;
  const height = what.dims.length > 2 ? { level: level.value } : {};
  const found = watched.value.map((name) => ({ id: `map:${name}`, session: name, variable: what.name, ...height }));
  const byAir = unitFor(unitsOf(what, hasAir.value), unit, 0).byAir;
  return byAir ? [...found, { id: "air", session, variable: AIR, ...height }] : found;
});

/** Keep the server's list of what is wanted the same as ours. */
export function watch(): void {
  let present = new Map<string, string>();
  effect(() => {
    const next = new Map(wanted.value.map((each) => [each.id, JSON.stringify(each)]));
    for (const id of present.keys()) if (!next.has(id)) link.unsubscribe(id);
    for (const [id, text] of next) if (present.get(id) !== text) link.subscribe(JSON.parse(text) as Subscription);
    present = next;
  });
}

