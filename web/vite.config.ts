import { defineConfig } from "vitest/config";

// The server serves the files of this folder. Its page for a checkout without a build, missing.html, must stay.
export default defineConfig({
  base: "./",
  build: { outDir: "../src/airshed/serve/web", emptyOutDir: false, target: "es2022", sourcemap: false },
  test: { include: ["tests/*.test.ts"], setupFiles: "tests/browser.ts" },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
