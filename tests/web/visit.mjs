// The visit of a reader who sees the page for the first time, as one scenario; Python checks what it found.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const AXE = new URL("../../web/node_modules/axe-core/axe.min.js", import.meta.url);

/** Ozone in a city at the displayed hour, the hour of its maximum, and a link that a reader opens. */
export async function visits({ open, given }) {
  const { width, height, theme, city } = given;
  const page = await open({ width, height, theme, view: {} });
  const picture = (of, name) => given.pictures && of.screenshot({ path: join(given.pictures, `visit-${name}-${width}-${theme}.png`) });
  await picture(page, "1-first");
  await goTo(page, city);
  await page.waitForFunction(() => document.querySelector(".sentence b:nth-of-type(2)")?.innerText);
  const sentence = await page.locator(".sentence").innerText();
  await picture(page, "2-place");
  const faults = await violations(page, given.axe ?? []);
  await page.getByRole("button", { name: "Share this view" }).click();
  await page.evaluate(() => { globalThis.ClipboardItem = undefined; navigator.clipboard.writeText = () => Promise.reject(new Error("no")); });
  await page.getByRole("button", { name: "Copy a link to look" }).click();
  const link = await page.locator("#share input").inputValue();
  await picture(page, "3-share");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  const colleague = await open({ url: link, exact: true, width, height, theme });
  await colleague.waitForFunction((words) => document.querySelector(".sentence")?.innerText === words, sentence);
  const tabs = await colleague.getByRole("tab").allInnerTexts();
  await picture(colleague, "4-colleague");
  return { sentence, link, wide, tabs, faults };
}

/** The change of ozone in a city by half of the road traffic in Germany, from the recorded day on. */
export async function wonders({ open, given }) {
  const { width, height, city } = given;
  const page = await open({ width, height, view: {} });
  const picture = (name) => given.pictures && page.screenshot({ path: join(given.pictures, `visit-${name}-${width}-light.png`) });
  await goTo(page, city);
  await page.getByRole("tab", { name: "What if?" }).click();
  await page.getByRole("tabpanel").getByRole("button", { name: "Start the model" }).click();
  await page.getByRole("button", { name: "What if …" }).click(); // comes with the live run
  await page.getByLabel("Country").selectOption({ label: "Germany" });
  const name = await page.getByLabel("Name").inputValue();
  await picture("5-card");
  await page.getByRole("button", { name: "Try it" }).click();
  const effect = page.getByRole("region", { name: "Effect" });
  await effect.getByText(/^([5-9]|\d\d) hours, /).waitFor();
  const words = await effect.innerText();
  const runs = await page.locator(".session option").allTextContents();
  await picture("6-effect");
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press("Control+z");
  await effect.waitFor({ state: "detached" });
  const undone = await page.locator(".notice.done").last().innerText();
  await page.keyboard.press("Control+Shift+z");
  await effect.getByText(name).first().waitFor();
  return { name, words, runs, undone };
}

/** Go to a city by the search field. */
async function goTo(page, city) {
  const search = page.getByRole("combobox", { name: "Go to a place or a field" });
  await search.fill(city);
  await page.locator("#goto-list").getByText(city, { exact: true }).first().waitFor(); // cities come after the first map
  await search.press("Enter");
}

/** Open each panel of a list, and return its serious accessibility problems. */
async function violations(page, panels) {
  const found = [];
  if (panels.length) await page.evaluate(readFileSync(AXE, "utf8"));
  for (const panel of panels) {
    await page.getByRole("tab", { name: panel, exact: true }).click();
    const { violations: all } = await page.evaluate(() => globalThis.axe.run());
    found.push(...all.filter((each) => ["serious", "critical"].includes(each.impact)).map((each) => `${panel}: ${each.id}: ${each.nodes[0].html}`));
  }
  if (panels.length) await page.getByRole("tab", { name: "Place", exact: true }).click();
  return found;
}
