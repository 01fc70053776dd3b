import { computed } from "@preact/signals";
import { view } from "./view";

/** The sessions whose maps are shown. */
export const watched = computed<string[]>(() => {
  const { session, other } = view.value;
  return other && other !== session ? [session, other] : [session];
});
