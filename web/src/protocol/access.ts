// Identity of this page for the server: the token of the address, and a name.

export interface Access {
  token: string;
  /** A random text of this tab: it identifies the holder of the lease of control. */
  client: string;
  /** The name by which others see this page; empty before one is chosen or given. */
  author: string;
  /** Whether the user has chosen a name, or declined to. */
  named: boolean;
}

const TOKEN = "airshed.token";
const CLIENT = "airshed.client";
const AUTHOR = "airshed.author";

/** Remove the token from the address, so that it is not visible on the screen, and store it for reloads. */
export function access(): Access {
  const given = /[#&]token=([^&]+)/.exec(location.hash)?.[1];
  if (given) {
    sessionStorage.setItem(TOKEN, decodeURIComponent(given));
    const rest = location.hash.replace(/[#&]token=[^&]+/, "").replace(/^&/, "#");
    history.replaceState(null, "", location.pathname + rest);
  }
  return {
    token: sessionStorage.getItem(TOKEN) ?? "",
    client: stored(sessionStorage, CLIENT, random),
    author: chosenName() ?? "",
    named: chosenName() !== null,
  };
}

/** Store the name that the user has chosen; an empty one keeps the name that the server gives. */
export function storeName(name: string): void {
  localStorage.setItem(AUTHOR, name);
}

function chosenName(): string | null {
  const name = localStorage.getItem(AUTHOR);
  return name === "anonymous" ? null : name; // earlier versions stored it unasked
}

/** Store a token that was granted, for reloads. */
export function storeToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

function stored(storage: Storage, key: string, make: () => string): string {
  const value = storage.getItem(key) ?? make();
  storage.setItem(key, value);
  return value;
}

function random(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
