// Files of the displayed field, saved by the browser.
import type { Variable } from "../protocol/types";
import { requested } from "./actions";
import { http, level, session } from "./store";

const KINDS = {
  png: (selected: Variable) => ({ path: `png/${selected.name}${selected.dims.length > 2 ? `?level=${level.value}` : ""}`, ending: "png" }),
  netcdf: (selected: Variable) => ({ path: `netcdf?variables=${selected.name}`, ending: "nc" }),
};

/** Save the field of the present state: its map as a picture, or all its levels as data. */
export async function save(kind: keyof typeof KINDS, selected: Variable): Promise<void> {
  const now = session.value;
  if (!now) return;
  const { path, ending } = KINDS[kind](selected);
  const found = await requested(() => http.file(`/sessions/${now.session}/${path}`));
  if (!found) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(found);
  link.download = `${selected.name}-${now.session}-step${now.step}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
