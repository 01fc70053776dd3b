// A browser for one test: node browser.mjs SCENARIO '{"url": ..., "chromium": ..., ...}'. Prints what the scenario found as JSON.
import { createInterface } from "node:readline";
import { chromium } from "../../web/node_modules/playwright-core/index.mjs";

const [name, text] = process.argv.slice(2);
const given = JSON.parse(text);
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Let the test do something that only it can, such as to end the server, and wait until it has. */
async function ask(what) {
  console.log(JSON.stringify({ ask: what }));
  return JSON.parse((await answers.next()).value);
}

const SOFTWARE = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-lcd-text"];
const browser = await chromium.launch({ executablePath: given.chromium, args: SOFTWARE });
const said = [];

/** Open the page in a window of its own, and wait for its first map. */
async function open({ url = given.url, view = {}, width = 1280, height = 800, theme = "light", wait = true } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(60000);
  page.on("pageerror", (error) => said.push(String(error.stack)));
  page.on("request", (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol.startsWith("http") && hostname !== "127.0.0.1") said.push(`asked for ${request.url()}`);
  });
  await page.goto(`${url}&view=${encodeURIComponent(JSON.stringify({ version: 1, ...view }))}`);
  if (wait) await page.waitForSelector(".map[data-version]:not([data-version=''])");
  return page;
}


try {
  const { [name]: scenario } = await import("./scenarios.mjs");
  const found = await scenario({ open, ask, given });
  console.log(JSON.stringify({ found: found ?? null, said }));
} finally {
  await browser.close();
  answers.return?.();
  process.stdin.destroy();
}
