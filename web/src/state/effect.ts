// The effect of a scenario on the displayed field, computed by the server from the recorded hours of both runs.
import { computed, effect, signal } from "@preact/signals";
import { Refused } from "../protocol/http";
import type { Effect } from "../protocol/types";
import { cutsNitrogen } from "./effect_words";
import { countryOf, levers } from "./scenario";
import { connection, http, level, logs, placeOf, recorded, variable } from "./store";
import { activeChanges } from "./undo";
import { view } from "./view";

export const effectOfOther = signal<Effect | null>(null);
/** The reason why there is no effect yet. */
export const noEffect = signal<string | null>(null);

const WAIT = 500; // ms between a record and the request

/** The changes of the other run, one after another. */
const setsOfOther = computed(() =>
  activeChanges(logs.value[view.value.other ?? ""] ?? []).filter((each) => each.command["kind"] === "set")
    .map((each) => each.command["changes"] as Record<string, unknown>));

/** Whether more ozone somewhere needs an explanation: the other run emits less nitrogen oxides. */
export const isMoreOzone = computed(() =>
  variable.value?.name === "O3" && Boolean(effectOfOther.value?.increase)
  && cutsNitrogen(Object.assign({}, ...setsOfOther.value) as Record<string, unknown>, levers.value.find((each) => each.path === "emissions.scale")?.keys ?? {}));

/** The country of the changes of the other run. */
export const country = computed(() => {
  return setsOfOther.value.map((each) => countryOf(each, levers.value)).findLast(Boolean) ?? "";
});

const query = computed<string | null>(() => {
  const { other, session, panel } = view.value;
  if (!other || other === session || panel !== "scenario" || !variable.value || connection.value !== "open") return null;
  const places = view.value.places.map(placeOf).filter((each) => each !== null).map(([lon, lat]) => `${lon.toFixed(4)},${lat.toFixed(4)}`).join(";");
  const parts = { other: session, variable: variable.value.name, level: String(level.value), country: country.value, places };
  return `/sessions/${other}/effect?${new URLSearchParams(Object.entries(parts).filter(([, value]) => value))}`;
});

/** Request the effect while its panel is open, and again after each record of either run. */
export function followEffect(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let former: string | null = null;
  effect(() => {
    const path = query.value;
    void [recorded.value[view.value.session], recorded.value[view.value.other ?? ""]];
    clearTimeout(timer);
    if (path !== former) effectOfOther.value = null;
    former = path;
    if (path) timer = setTimeout(() => void request(path), WAIT);
  });
}

async function request(path: string): Promise<void> {
  try {
    const found = await http.get<Effect>(path);
    if (path !== query.value) return;
    effectOfOther.value = found;
    noEffect.value = null;
  } catch (error) {
    if (path === query.value && error instanceof Refused) noEffect.value = error.message;
  }
}
