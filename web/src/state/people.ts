// The people who are present: their names and roles, and those of this page.
import { computed, signal } from "@preact/signals";
import type { AccessRequest, Person, ServerEvent } from "../protocol/types";

export type Role = Person["role"];

/** All who have a page open, or a program connected, with names that differ. */
export const people = signal<Person[]>([]);
/** The name by which others see this page: the chosen one, or one that the server gave. */
export const ownName = signal("");
/** The role of this page; null before the server has answered. */
export const role = signal<Role | null>(null);
/** Requests for access, for pages with control. */
export const waiting = signal<AccessRequest[]>([]);
/** Whether a name is requested: after its first change, unless it has one. */
export const nameWanted = signal(false);

export const isReader = computed(() => role.value === "watch");

/** Store the content of an event about people; return whether it is one. */
export function heard(event: ServerEvent): boolean {
  if (event.event === "people") people.value = event.people ?? [];
  else if (event.event === "access") waiting.value = event.waiting ?? [];
  else if (event.event === "named") {
    ownName.value = event.author ?? "";
    role.value = event.role ?? null;
  } else return false;
  return true;
}

/** Request a name after a change of this page, unless the user has chosen one. */
export function changed(author: string, identity: { named: boolean }): void {
  if (author === ownName.value && !identity.named) nameWanted.value = true;
}

/** The people as listed: this page first, then those with control, then readers. */
export const listed = computed<Person[]>(() => {
  const rank = (each: Person) => (each.name === ownName.value ? 0 : each.role === "control" ? 1 : 2);
  return [...people.value].sort((one, other) => rank(one) - rank(other));
});
