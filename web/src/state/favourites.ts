// Favourite fields and the last chosen field of each model, stored in the browser.
import { signal } from "@preact/signals";

const FAVOURITES = "airshed.favourites";
const RECENT = "airshed.recent";

export const favourites = signal<string[]>(listed(FAVOURITES));

export function toggleFavourite(name: string): void {
  const others = favourites.value.filter((each) => each !== name);
  favourites.value = others.length < favourites.value.length ? others : [...others, name];
  store(FAVOURITES, favourites.value);
}

/** Store the chosen field of a model, so that it is chosen again when the page returns to that model. */
export function rememberField(model: string, name: string): void {
  store(RECENT, [...listed(RECENT).filter((each) => !each.startsWith(`${model} `)), `${model} ${name}`]);
}

export function recentField(model: string): string | null {
  return listed(RECENT).find((each) => each.startsWith(`${model} `))?.slice(model.length + 1) ?? null;
}

function listed(key: string): string[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
  } catch {
    return []; // no storage, or a document of another version
  }
}

function store(key: string, names: string[]): void {
  try {
    localStorage.setItem(key, JSON.stringify(names));
  } catch {
    // a browser without storage: the choice lasts as long as the page
  }
}
