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
  const search = page.getByRole("combobox", { name: "Go to a place or a field" });
  await search.fill(city);
  await page.locator("#goto-list").getByText(city, { exact: true }).first().waitFor(); // cities come after the first map
  await search.press("Enter");
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
