// Preferences of the reader, remembered by the browser: no part of the address.
import { effect, signal, type Signal } from "@preact/signals";

/** Return a signal with a remembered value; an unsuitable one becomes the default. */
export function remembered<T>(name: string, usual: T, suits: (value: unknown) => boolean): Signal<T> {
  const found = signal(stored(name, usual, suits));
  effect(() => {
    const { value } = found;
    try {
      localStorage.setItem(`airshed-${name}`, JSON.stringify(value));
    } catch {
      // the browser allows no storage: the preference ends with the page
    }
  });
  return found;
}

function stored<T>(name: string, usual: T, suits: (value: unknown) => boolean): T {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(`airshed-${name}`) ?? "null");
    return suits(value) ? (value as T) : usual;
  } catch {
    return usual;
  }
}
