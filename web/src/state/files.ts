// Files: what is shown, saved by the browser.
import type { Variable } from "../protocol/types";
import { asked } from "./actions";
import { http, level, session } from "./store";

const KINDS = {
  png: (what: Variable) => ({ path: `png/${what.name}${what.dims.length > 2 ? `?level=${level.value}` : ""}`, ending: "png" }),
  netcdf: (what: Variable) => ({ path: `netcdf?variables=${what.name}`, ending: "nc" }),
};

/** Save the field of the present state: its map as a picture, or all its levels as data. */
export async function save(kind: keyof typeof KINDS, what: Variable): Promise<void> {
  const now = session.value;
  if (!now) return;
  const { path, ending } = KINDS[kind](what);
  const found = await asked(() => http.file(`/sessions/${now.session}/${path}`));
  if (!found) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(found);
  link.download = `${what.name}-${now.session}-step${now.step}.${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
