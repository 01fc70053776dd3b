// Subscriptions of the frames that the present view needs.
import { computed, effect } from "@preact/signals";
import type { Subscription } from "../protocol/types";
import { columnAir, companionSubscriptions } from "./companions";
import { subscriptions } from "./places";
import { unit } from "./scale";
import { info, level, link, variable } from "./store";
import { watched } from "./view";

const needed = computed<Subscription[]>(() => {
  const selected = variable.value;
  if (!info.value || !selected) return [];
  const height = selected.dims.length > 2 ? { level: level.value } : {};
  const maps: Subscription[] = watched.value.map((name) => ({ id: `map:${name}`, session: name, variable: selected.name, ...height }));
  const others = subscriptions();
  const ofAir = others.flatMap((each) => columnAir(each, unit.value?.byAir ?? false));
  return [...maps, ...others, ...ofAir, ...companionSubscriptions(unit.value?.byAir ?? false)];
});

/** Update the subscriptions on the server to those of the view. */
export function watch(): void {
  let present = new Map<string, string>();
  effect(() => {
    const next = new Map(needed.value.map((each) => [each.id, JSON.stringify(each)]));
    for (const id of present.keys()) if (!next.has(id)) link.unsubscribe(id);
    for (const [id, text] of next) if (present.get(id) !== text) link.subscribe(JSON.parse(text) as Subscription);
    present = next;
  });
}
