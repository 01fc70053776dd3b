// A request for access: by a page without a valid token, or by a reader for control; and the answers of a page with control.
import { signal } from "@preact/signals";
import { errorText } from "../maths/format";
import { storeName, storeToken } from "../protocol/access";
import type { AccessAnswer, AccessTicket } from "../protocol/types";
import { requested } from "./actions";
import type { Role } from "./people";
import { http, identity, link, notify } from "./store";

/** The own request: the number that the other side sees too, or the words of its end. */
export const ownRequest = signal<{ number: number } | { end: string } | null>(null);

const PAUSE = 2000;

/** Request access, and use the token that is granted. */
export async function askForAccess(name: string, role: Role): Promise<void> {
  if (name.trim()) useName(name.trim());
  try {
    const { ticket, number } = await http.send<AccessTicket>("POST", "/access/request", { name: name.trim(), role });
    ownRequest.value = { number };
    finish(await answerTo(ticket));
  } catch (error) {
    ownRequest.value = { end: errorText(error) };
  }
}

/** Use the name of a request when the page gets in. */
function useName(name: string): void {
  storeName(name);
  identity.author = name;
  identity.named = true;
}

async function answerTo(ticket: string): Promise<AccessAnswer> {
  for (;;) {
    const answer = await http.send<AccessAnswer>("POST", "/access/answer", { ticket }).catch(() => null); // the server may return
    if (answer && answer.status !== "waiting") return answer;
    await new Promise((done) => setTimeout(done, PAUSE));
  }
}

/** Use the answer to the own request. */
export function finish(answer: AccessAnswer): void {
  ownRequest.value = answer.status === "granted" ? null : { end: ENDS[answer.status] ?? "" };
  if (!answer.token) return;
  identity.token = answer.token;
  storeToken(answer.token);
  link.renew();
  notify("done", answer.role === "control" ? "You may control now." : "You may look now.");
}

const ENDS: Partial<Record<AccessAnswer["status"], string>> = {
  refused: "The request was refused.",
  unknown: "No answer came within ten minutes. Try again, or ask the owner for a link.",
};

/** Answer a request for access; null refuses it. */
export const decide = (number: number, role: Role | null): Promise<unknown> =>
  requested(() => http.send("POST", `/access/requests/${number}`, { role }));

/** Refuse all requests, and accept none for an hour. */
export const refuseAll = (): Promise<unknown> => requested(() => http.send("DELETE", "/access/requests"));
