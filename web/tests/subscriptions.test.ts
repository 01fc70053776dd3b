// Subscriptions follow the view; the theme follows the system or the choice.
import { afterEach, describe, expect, it, vi } from "vitest";
import { infos, link } from "../src/state/store";
import { watch } from "../src/state/subscriptions";
import { look } from "../src/state/view";
import { field, model } from "./samples";

const of = () => model([field("O3"), field("NO2")]);

describe("subscriptions", () => {
  afterEach(() => vi.restoreAllMocks());

  it("are those of the displayed field and runs, and end with them", () => {
    const began = vi.spyOn(link, "subscribe").mockImplementation(() => undefined);
    const ended = vi.spyOn(link, "unsubscribe").mockImplementation(() => undefined);
    infos.value = { main: of(), b1: of() };
    look({ session: "main", variable: "O3", other: null });
    watch();
    const maps = () => began.mock.calls.map(([each]) => each).filter((each) => each.id.startsWith("map:")).map((each) => `${each.session} ${each.variable}`);
    expect(maps()).toEqual(["main O3"]);
    look({ other: "b1" });
    expect(maps()).toEqual(["main O3", "b1 O3"]);
    look({ variable: "NO2" });
    expect(maps().slice(2)).toEqual(["main NO2", "b1 NO2"]);
    expect(ended).not.toHaveBeenCalled();
    look({ other: null });
    expect(ended).toHaveBeenCalledWith("map:b1");
    const before = began.mock.calls.length;
    look({ smooth: true });
    expect(began.mock.calls.length).toBe(before);
  });
});

describe("the theme", () => {
  it("is that of the system unless one is chosen", async () => {
    let change: ((event: { matches: boolean }) => void) | undefined;
    vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: (_: string, on: typeof change) => (change = on) }));
    vi.resetModules();
    const { isDark } = await import("../src/state/theme");
    const { look: choose } = await import("../src/state/view");
    expect(isDark.value).toBe(false);
    change?.({ matches: true });
    expect(isDark.value).toBe(true);
    choose({ theme: "light" });
    expect(isDark.value).toBe(false);
    choose({ theme: "dark" });
    change?.({ matches: false });
    expect(isDark.value).toBe(true);
  });
});
