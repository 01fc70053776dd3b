// Browser objects that modules use when they are loaded.
import { vi } from "vitest";

const stored = new Map<string, string>();
vi.stubGlobal("location", { hash: "", pathname: "/", search: "", href: "http://127.0.0.1/", host: "127.0.0.1", protocol: "http:" });
vi.stubGlobal("history", { replaceState: () => undefined });
vi.stubGlobal("sessionStorage", {
  getItem: (name: string) => stored.get(name) ?? null, setItem: (name: string, value: string) => stored.set(name, value),
});
vi.stubGlobal("localStorage", globalThis.sessionStorage);
vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => undefined }));
