// A browser for tests: node browser.mjs CHROMIUM. Each line that comes is {"scenario": NAME, "given": {"url": ..., ...}}; each
// line that goes says as JSON what the scenario found, or asks for something.
import { createInterface } from "node:readline";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";
import * as scenarios from "./scenarios.mjs";

const SOFTWARE = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-lcd-text"];
const browser = await chromium.launch({ executablePath: process.argv[2], args: SOFTWARE });
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (what) => console.log(JSON.stringify(what));

/** Let the test do something that only it can, such as to end the server, and wait until it has. */
async function ask(what) {
  say({ ask: what });
  return JSON.parse((await lines.next()).value);
}

/** Return what opens the page in a window of its own and waits for its first map; `said` takes what it should not say. */
function opener(address, said) {
  return async ({ url = address, view = {}, width = 1280, height = 800, theme = "light", wait = true, before } = {}) => {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce" });
    const page = await context.newPage();
    page.setDefaultTimeout(240000);
    page.on("pageerror", (error) => said.push(String(error.stack)));
    page.on("request", (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (protocol.startsWith("http") && hostname !== "127.0.0.1") said.push(`asked for ${request.url()}`);
    });
    if (before) await page.addInitScript(before);
    await page.goto(`${url}&view=${encodeURIComponent(JSON.stringify({ version: 1, ...view }))}`);
    if (wait) await page.waitForSelector(".map[data-version]:not([data-version=''])");
    return page;
  };
}

async function played({ scenario, given }) {
  const said = [];
  try {
    return { found: (await scenarios[scenario]({ open: opener(given.url, said), ask, given })) ?? null, said };
  } catch (error) {
    return { failed: String(error.stack), said };
  } finally {
    for (const context of browser.contexts()) await context.close();
  }
}

for (let next = await lines.next(); !next.done; next = await lines.next()) say(await played(JSON.parse(next.value)));
await browser.close();
