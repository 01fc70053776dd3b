// Light or dark theme: as selected, or that of the system.
import { computed, signal } from "@preact/signals";
import { view } from "./view";

const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);
system.addEventListener("change", (event) => (systemIsDark.value = event.matches));

export const isDark = computed(() => (view.value.theme === "auto" ? systemIsDark.value : view.value.theme === "dark"));
