// Recorded hours: the displayed field at all past times, and columns of places and of the line at the displayed past time.
import { computed, effect } from "@preact/signals";
import type { Frame } from "../protocol/frames";
import type { Subscription } from "../protocol/types";
import { Refused } from "../protocol/http";
import { columnAir } from "./companions";
import { subscriptions } from "./places";
import { unit } from "./scale";
import { arrived, earlier, http, info, level, past, recorded, variable } from "./store";
import { displayedTime, view, watched } from "./view";

const levelQuery = (): string => (variable.value && variable.value.dims.length > 2 ? `level=${level.value}` : "");

/** Fields that a session does not record, so that they are requested once. */
const missing = new Set<string>();

async function frames(session: string, name: string, query: string): Promise<Frame[]> {
  if (missing.has(`${session}/${name}`)) return [];
  try {
    return await http.frames(`/sessions/${session}/recording/${name}?${query}`);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (error.message.includes("is not recorded")) missing.add(`${session}/${name}`);
    return [];
  }
}

/** Request the records of the displayed field; `since` omits those up to a time [s]. */
async function requestRecords(session: string, name: string, query: string): Promise<void> {
  const found = await frames(session, name, query);
  if (variable.value?.name !== name || !found.length) return;
  past(session).merge(found);
  arrived.value += 1;
}

/** Fill the past of each displayed session when the field changes, and after each further record. */
export function followRecords(): void {
  const field = computed(() => (info.value && variable.value ? `${variable.value.name}?${levelQuery()}` : null));
  const latest = new Map<string, { field: string; count: number }>();
  effect(() => {
    const now = field.value;
    if (!now) return;
    const [name = "", query = ""] = now.split("?");
    for (const session of watched.value) {
      const count = recorded.value[session] ?? 0;
      const before = latest.get(session);
      if (before?.field === now && before.count === count) continue;
      latest.set(session, { field: now, count });
      const last = before?.field === now ? past(session).frames.findLast((each) => each.header.subscription === null) : null;
      void requestRecords(session, name, last ? `${query}&since=${last.header.seconds}` : query).catch(() => undefined);
    }
  });
  const hour = computed(() => {
    void arrived.value; // a link to a past hour is opened before its frames arrive
    return displayedTime.value === null ? null : (past(view.value.session).at(displayedTime.value)?.header.seconds ?? null);
  });
  effect(() => {
    const at = hour.value;
    if (at === null) {
      earlier.value = {};
      return;
    }
    for (const each of subscriptions()) {
      void requestColumn(each, at).catch(() => undefined);
      for (const part of columnAir(each, unit.value?.byAir ?? false)) void requestColumn(part, at).catch(() => undefined);
    }
  });
}

async function requestColumn(of: Subscription, at: number): Promise<void> {
  const [found] = await frames(of.session ?? "main", of.variable, `at=${at}&window=${of.window?.join(",") ?? ""}`);
  if (found && displayedTime.value !== null) earlier.value = { ...earlier.value, [of.id]: found };
}
