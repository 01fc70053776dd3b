// A browser for tests: node browser.mjs CHROMIUM. Each line of input is {"scenario": NAME, "given": {"url": ..., ...}}; each
// line of output is JSON: the result of the scenario, or a request.
import { createInterface } from "node:readline";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";
import * as tasks from "./scenarios.mjs";
import * as visit from "./visit.mjs";

const scenarios = { ...tasks, ...visit };
const SOFTWARE = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-lcd-text"];
const browser = await chromium.launch({ executablePath: process.argv[2], args: SOFTWARE });
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (what) => console.log(JSON.stringify(what));

/** Request an action of the test, such as ending the server, and wait for it. */
async function ask(what) {
  say({ ask: what });
  return JSON.parse((await lines.next()).value);
}

/** Return a function that opens the page in a new window and waits for its first map; `errors` collects errors. */
function opener(address, errors) {
  return async ({ url = address, view = {}, width = 1280, height = 800, theme = "light", wait = true, exact = false, before } = {}) => {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce" });
    const page = await context.newPage();
    page.setDefaultTimeout(240000);
    page.on("pageerror", (error) => errors.push(String(error.stack)));
    page.on("request", (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (protocol.startsWith("http") && hostname !== "127.0.0.1") errors.push(`request of ${request.url()}`);
    });
    if (before) await page.addInitScript(before);
    await page.goto(exact ? url : `${url}&view=${encodeURIComponent(JSON.stringify({ version: 1, ...view }))}`);
    if (wait) await page.waitForSelector(".map[data-version]:not([data-version=''])");
    return page;
  };
}

async function played({ scenario, given }) {
  const errors = [];
  try {
    return { found: (await scenarios[scenario]({ open: opener(given.url, errors), ask, given })) ?? null, errors };
  } catch (error) {
    return { failed: String(error.stack), errors };
  } finally {
    for (const context of browser.contexts()) await context.close();
  }
}

for (let next = await lines.next(); !next.done; next = await lines.next()) say(await played(JSON.parse(next.value)));
await browser.close();
