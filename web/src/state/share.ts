// Links to the present view: with the token for readers, or with the one for control.
import { signal } from "@preact/signals";
import type { Access } from "../protocol/types";
import { isSite } from "../protocol/recorded_site";
import { writtenLineage, lineageOf } from "./ended";
import { isReader, type Role } from "./people";
import { displayedSpan } from "./scale";
import { http, identity, notify, sessions } from "./store";
import { view, written } from "./view";

/** The link that the browser does not allow to copy, so that the user copies it. */
export const shown = signal<string | null>(null);

/** Whether a host is this computer itself: others cannot open its links. */
export const isLoopback = (host: string): boolean => /^(localhost|.+\.localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host);

/** The limit of a link on this computer. */
export const ONLY_HERE = "This link opens on this computer only.";
export const isOnlyHere = (): boolean => isLoopback(location.hostname);

/** Return the address of the present view for a role. */
export async function linkFor(role: Role): Promise<string> {
  const place = location.origin + location.pathname;
  const shared = { ...view.value, span: displayedSpan.value };
  if (isSite()) return place + written(shared);
  const token = role === "watch" || isReader.value ? (await http.get<Access>("/access")).watch : identity.token;
  return `${place}#token=${token}&${written(shared).slice(1)}${writtenLineage(lineageOf(view.value.session, sessions.value))}`;
}

/** Return the words after a link was copied. */
function done(role: Role): string {
  if (isOnlyHere()) return `Link copied. ${ONLY_HERE}`;
  return isSite() ? "Link copied. It opens this view." : DONE[role];
}

const DONE: Record<Role, string> = {
  watch: "Link copied. It opens this view; whoever has it can look, and change nothing.",
  control: "Link copied. Whoever has it can change and run the model.",
};

/** Copy the link for a role, or show it where the browser does not allow to copy. */
export async function share(role: Role): Promise<boolean> {
  shown.value = null;
  const link = linkFor(role);
  try {
    // some browsers allow to copy only within the click, before the link is there
    if (typeof ClipboardItem === "undefined") await navigator.clipboard.writeText(await link);
    else await navigator.clipboard.write([new ClipboardItem({ "text/plain": link.then((text) => new Blob([text], { type: "text/plain" })) })]);
    notify("done", done(role));
    return true;
  } catch {
    shown.value = await link.catch(() => null);
    if (shown.value === null) notify("problem", "The server did not answer. Try again.");
    return false;
  }
}
