// Scenarios of user actions in the browser; each returns its observations, which Python checks.

import { readFileSync } from "node:fs";

const AXE = new URL("../../web/node_modules/axe-core/axe.min.js", import.meta.url);
const PANELS = ["Fields", "Place", "What if?", "Budget", "Settings", "About"];
const clock = (page) => page.locator(".clock");
const step = async (page) => Number(await clock(page).getAttribute("data-step"));
const atStep = (page, count) =>
  page.waitForFunction((expected) => Number(document.querySelector(".clock")?.dataset.step) >= expected, count);
const status = (page, expected) => page.waitForSelector(`.clock[data-status="${expected}"]`);
/** Request one step of the model by its key. */
async function advance(page) {
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press(".");
}

/** Limit the steps per second in the menu of the model. */
async function slowDown(page, steps) {
  await page.getByRole("button", { name: "More ways to run the model" }).click();
  await page.locator(".speed select").selectOption(steps);
  await page.keyboard.press("Escape");
}
/** Height of the words above a saved map [CSS pixels]. */
const PICTURE_HEAD = 62;
const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Return the position of a place on the screen, from the visible area of the map. */
async function pixel(page, lon, lat, nth = 0) {
  const map = page.locator(".map").nth(nth);
  const [west, south, east, north] = (await map.getAttribute("data-box")).split(",").map(Number);
  const { x, y, width, height } = await map.boundingBox();
  return [x + ((lon - west) / (east - west)) * width, y + ((north - lat) / (north - south)) * height];
}

const scale = async (page) => {
  const { low, high, log, colours } = await page.locator(".legend").evaluate((element) => ({ ...element.dataset }));
  return { low: Number(low), high: Number(high), log: log === "true", colours };
};

/** Load, play, pause, step. */
export async function plays({ open }) {
  const page = await open();
  const title = await page.locator(".top .title").innerText();
  await advance(page);
  await atStep(page, 1);
  const stepped = await step(page);
  await slowDown(page, "20");
  await page.getByRole("button", { name: "Run model" }).click();
  await status(page, "running");
  await atStep(page, stepped + 3);
  await page.getByRole("button", { name: "Pause model" }).click();
  await status(page, "paused");
  const paused = await step(page);
  await page.waitForTimeout(400);
  return { title, stepped, paused, later: await step(page) };
}

/** Select a field, a level and a range; take a screenshot, and return the positions of cells on it. */
export async function shows({ open, given }) {
  const page = await open({ view: { lines: false, cities: false, ...given.view } });
  await settle(page);
  await page.mouse.move(2, 2);
  await settle(page);
  const places = [];
  for (const [lon, lat] of given.places) places.push(await pixel(page, lon, lat));
  await page.screenshot({ path: given.picture });
  const saved = given.saved && (await savedPicture(page, places, given.saved));
  const values = [];
  for (const [x, y] of places) {
    await page.mouse.move(x, y);
    await page.waitForFunction(() => document.querySelector(".readout span")?.innerText);
    await settle(page);
    values.push(await page.locator(".readout").evaluate((each) => [Number(each.dataset.row), Number(each.dataset.column), `${each.innerText} ${each.querySelector("span").title}`]));
  }
  return { places, values, saved, scale: await scale(page) };
}

/** Save the picture of the map; return the positions on it of places on the screen. */
async function savedPicture(page, places, path) {
  await page.getByRole("button", { name: "Save …" }).click();
  const download = page.waitForEvent("download");
  await page.getByRole("menuitem", { name: "Picture of the map" }).click();
  await (await download).saveAs(path);
  const covered = await page.locator(".maps").evaluate((each) => parseFloat(getComputedStyle(each).getPropertyValue("--covered-top")) || 0);
  const { x: left, y: top } = await page.locator(".maps").boundingBox();
  return places.map(([x, y]) => [2 * (x - left), 2 * (y - top - covered + PICTURE_HEAD)]);
}

/** Read a table of the budget, and the costs of a step. */
export async function sums({ open, given }) {
  const page = await open({ view: { panel: "budget", ...given.view } });
  await page.getByText("All tables").click();
  const table = page.getByRole("region", { name: given.table });
  await table.waitFor();
  await advance(page);
  await atStep(page, 1);
  await page.waitForFunction((name) => [...document.querySelectorAll(`[aria-label="${name}"] td`)].some((each) => each.innerText !== "0"), given.table);
  const rows = await table.locator("tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.innerText)));
  await page.getByRole("tab", { name: "About" }).click();
  await page.waitForSelector(".timing");
  await page.keyboard.press(".");
  await atStep(page, 2);
  await page.waitForFunction(() => [...document.querySelectorAll(".timing td:last-child")].every((each) => each.innerText.endsWith("ms")));
  return { rows, parts: await page.locator(".timing tbody th").allInnerTexts() };
}

/** Search for a field, move up a level, mark a place, and make steps. */
export async function looks({ open, given }) {
  const page = await open();
  await page.getByLabel("Find a field").fill(given.words);
  await page.getByRole("listbox", { name: "Fields" }).getByRole("option").first().click();
  const slider = page.getByRole("slider", { name: "Height" });
  await slider.focus();
  await slider.press("ArrowUp");
  await page.waitForSelector(".map[data-version]:not([data-version=''])");
  await page.mouse.click(...(await pixel(page, ...given.place)));
  for (let k = 1; k <= 3; k++) {
    await advance(page);
    await atStep(page, k);
  }
  await page.waitForFunction(() => document.querySelectorAll(".chart .curve").length === 2);
  await settle(page);
  const curves = await page.locator(".chart .curve").evaluateAll((all) => all.map((each) => each.getAttribute("d").split("L").length));
  return {
    curves, height: await page.evaluate(() => document.querySelector("#panel").innerText),
    view: JSON.parse(decodeURIComponent((await page.evaluate(() => location.hash)).slice("#view=".length))), token: page.url().includes("token"),
  };
}

/** Change an emission factor on a branch, advance both runs, and show the difference. */
export async function branches({ open, given, ask }) {
  const page = await open({ view: { variable: given.variable, panel: "settings", lines: false, cities: false } });
  await page.getByLabel("Add to emissions.scale").fill(given.pollutant);
  await page.getByLabel("Add to emissions.scale").press("Enter");
  await page.getByLabel(given.pollutant, { exact: true }).fill("0");
  await page.getByLabel(given.pollutant, { exact: true }).press("Enter");
  await page.getByRole("button", { name: "On a branch" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".map[data-version]:not([data-version=''])").length === 2);
  const names = await page.locator(".which").allInnerTexts();
  await advance(page);
  await atStep(page, 1);
  for (const key of "dd") await page.keyboard.press(key); // side by side, line, difference
  await page.waitForFunction(() => document.querySelectorAll(".map").length === 1);
  await page.waitForFunction(() => !document.querySelector(".map .blank"));
  await settle(page);
  await page.mouse.move(...(await pixel(page, ...given.place)));
  await settle(page);
  const seen = { names, difference: await ask("look"), scale: await scale(page), value: await page.locator(".readout strong").innerText() };
  await page.evaluate(() => {
    globalThis.blanks = 0;
    new MutationObserver(() => (globalThis.blanks += document.querySelectorAll(".map .blank").length)).observe(document.body, { subtree: true, childList: true });
  });
  await slowDown(page, "5"); // slow enough for a frame of each step
  await page.getByRole("button", { name: "Run model" }).click();
  await atStep(page, 6);
  await page.getByRole("button", { name: "Pause model" }).click();
  return { ...seen, blanks: await page.evaluate(() => globalThis.blanks), drawn: Number(await page.locator(".map").getAttribute("data-version")) };
}

const CORNERS = ["ArrowUp", "ArrowUp", "Enter", ...Array(3).fill("ArrowRight"), "Enter", ...Array(4).fill("ArrowDown"), "Enter"];

/** By keyboard only: switch a setting off and on, change a factor of a country and sector, release a species, paint an area. */
export async function steers({ open, given }) {
  const page = await open({ view: { variable: given.variable, panel: "settings" } });
  await page.route("**/info", async (route) => { // the description of the model is late on a busy machine
    await new Promise((done) => setTimeout(done, 300));
    await route.continue();
  });
  const press = async (what, ...keys) => {
    const ready = what.and(page.locator(":enabled, summary, .map")); // disabled elements take no focus
    for (const key of keys) await ready.press(key);
  };
  const button = (name) => page.getByRole("button", { name, exact: true });
  await page.evaluate(() => { // a notice disappears after four seconds, in which a busy machine may draw nothing
    globalThis.noticeText = "";
    const look = () => { for (const each of document.querySelectorAll(".notice.done")) globalThis.noticeText += each.textContent; };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
  });
  const done = (words) => page.waitForFunction((expected) => globalThis.noticeText.includes(expected), words, { polling: 100 });
  await press(page.locator("summary", { hasText: given.group }), "Enter");
  for (const value of ["false", "true"]) {
    await press(page.getByLabel(given.switch, { exact: true }), "Space");
    await press(button("Apply here"), "Enter");
    await done(`${given.words} ${value === "true" ? "on" : "off"}`);
  }
  await page.getByLabel("Add to emissions.scale").focus();
  await page.keyboard.type(given.factor);
  await page.keyboard.press("Enter");
  await page.waitForFunction((name) => document.activeElement.id.endsWith(name), given.factor);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("0.5");
  await page.keyboard.press("Enter");
  await press(button("Apply here"), "Enter");
  await done("Road transport −50 %, Germany");
  await press(page.getByText("Accidental release"), "Enter");
  for (const [label, value] of [["Longitude", given.place[0]], ["Latitude", given.place[1]], ["Rate [kg/s]", 3]]) {
    await press(page.getByLabel(label), "ControlOrMeta+a");
    await page.keyboard.type(String(value));
  }
  await page.keyboard.press("Enter");
  await done("released");
  await press(page.getByText(`Paint ${given.variable}`), "Enter");
  await press(button("Draw an area on the map"), "Enter");
  await press(page.locator(".map"), ...CORNERS);
  await press(button("Paint"), "Enter");
  await done("painted");
}

/** Release a species at a place, then undo it. */
export async function releases({ open, given, ask }) {
  const page = await open({ view: { variable: given.species, panel: "settings" } });
  await page.getByText("Accidental release").click();
  await page.getByLabel("Species").selectOption(given.species);
  await page.getByRole("button", { name: "Choose the place on the map" }).click();
  await page.mouse.click(...(await pixel(page, ...given.place)));
  await page.getByLabel("Rate [kg/s]").fill("50");
  await page.getByRole("button", { name: "Release", exact: true }).click();
  await page.waitForFunction(() => document.querySelector(".notice.done")?.innerText.includes("released"));
  await advance(page);
  await atStep(page, 1);
  const during = await ask("look");
  await page.keyboard.press("Control+z");
  await page.waitForFunction(() => document.querySelector(".clock").dataset.step === "0");
  const undone = await page.locator(".notice.done").last().innerText();
  await page.keyboard.press("Control+Shift+z");
  await atStep(page, 1);
  return { during, undone };
}

/** Paint a polygon into the field. */
export async function paints({ open, given }) {
  const page = await open({ view: { variable: given.variable, panel: "settings", unit: "ppb" } });
  await page.getByText(`Paint ${given.variable}`).click();
  await page.getByRole("button", { name: "Draw an area on the map" }).click();
  for (const corner of given.corners) await page.mouse.click(...(await pixel(page, ...corner)));
  await page.getByLabel("Each cell").selectOption("set");
  await page.getByLabel("Value [ppb]").fill(String(given.value));
  await page.getByRole("button", { name: "Paint", exact: true }).click();
  await page.waitForFunction(() => document.querySelector(".notice.done")?.innerText.includes("painted"));
}

/** Scroll back through past steps, and return to the present. */
export async function scrolls({ open, given }) {
  const page = await open({ view: { variable: "TRACER", unit: "ppt" } });
  const read = async () => {
    await settle(page);
    await page.mouse.move(...(await pixel(page, ...given.place)));
    await settle(page);
    return [await page.locator(".clock time").getAttribute("datetime"), await page.locator(".readout strong").innerText()];
  };
  const seen = [await read()];
  for (let k = 1; k <= 3; k++) {
    await page.keyboard.press(".");
    await atStep(page, k);
    await page.waitForFunction((expected) => Number(document.querySelector(".map").dataset.version) >= expected, k);
    seen.push(await read());
  }
  const again = [];
  for (let k = 0; k < 3; k++) {
    await page.keyboard.press("j");
    again.unshift(await read());
  }
  const marked = await page.locator(".clock mark").count();
  await page.keyboard.press("n");
  again.push(await read());
  return { seen, again, marked, left: await page.locator(".clock mark").count() };
}

const address = async (page) => JSON.parse(decodeURIComponent((await page.evaluate(() => location.hash)).split("view=")[1]));

/** Return the position of a time on the track, as a part of the case. */
async function onTrack(page, part) {
  const { x, y, width, height } = await page.locator(".hours").boundingBox();
  return [x + part * width, y + height / 2];
}

/** Drag along the time bar while the model runs, follow the run, play the past, and run to a time that is not computed yet. */
export async function travels({ open }) {
  const page = await open({ view: { variable: "TRACER" } });
  await slowDown(page, "5");
  await page.keyboard.press("m");
  await atStep(page, (await step(page)) + 5);
  const computed = Number(await page.locator(".hours").getAttribute("aria-valuemax")) / Number(await page.locator(".hours").getAttribute("data-end"));
  await page.mouse.move(...(await onTrack(page, 0.8 * computed)));
  await page.mouse.down();
  await page.mouse.move(...(await onTrack(page, 0.4 * computed)), { steps: 4 });
  await page.mouse.up();
  await page.waitForSelector(".clock mark");
  const dragged = await page.locator(".thumb b").innerText();
  const before = await step(page);
  await atStep(page, before + 2);
  const running = await clock(page).getAttribute("data-status");
  const stays = [dragged, await page.locator(".thumb b").innerText()];
  await page.getByRole("button", { name: "Follow the run" }).click();
  await page.waitForSelector(".clock mark", { state: "detached" });
  await page.keyboard.press("m");
  await status(page, "paused");
  const paused = await step(page);

  await page.keyboard.press(" ");
  await page.waitForSelector(".clock mark");
  const played = [];
  for (let k = 0; k < 3; k++) {
    await page.waitForFunction((last) => document.querySelector(".thumb").style.left !== last, played.at(-1));
    played.push(await page.locator(".thumb").evaluate((each) => each.style.left));
  }
  await page.keyboard.press(" ");
  const { at } = await address(page);

  await page.mouse.click(...(await onTrack(page, 0.9)));
  const offer = page.getByRole("button", { name: "Run the model to" });
  const text = await offer.innerText();
  const unchanged = await step(page);
  await offer.click();
  await status(page, "running");
  await page.keyboard.press("m");
  await status(page, "paused");
  return { running, stays, paused, unchanged, played: new Set(played).size, at, text };
}

/** Resize the dock by keys and pointer, hide it, and find it again after a reload. */
export async function docks({ open }) {
  const page = await open();
  const width = async () => Math.round((await page.locator("#panel").boundingBox()).width);
  const widths = [await width()];
  const handle = page.getByRole("separator", { name: "Width of the panels" });
  await handle.focus();
  await page.keyboard.press("ArrowLeft");
  widths.push(await width());
  const { x, y } = await handle.boundingBox();
  await page.mouse.move(x + 4, y + 80);
  await page.mouse.down();
  await page.mouse.move(x - 56, y + 80, { steps: 3 });
  await page.mouse.up();
  widths.push(await width());
  await page.reload();
  await page.waitForSelector(".map[data-version]:not([data-version=''])");
  widths.push(await width());
  const box = async () => (await page.locator(".map").getAttribute("data-box")).split(",").map(Number);
  const before = await box();
  await page.keyboard.press("o");
  await page.waitForSelector("#panel", { state: "detached" });
  await settle(page);
  const after = await box();
  await page.getByRole("tab", { name: "Budget" }).click();
  return { widths, moved: after[0] !== before[0], shown: await page.locator("#panel").getAttribute("aria-labelledby") };
}

/** Lose the connection to the server, and reconnect. */
export async function reconnects({ open, ask }) {
  const page = await open();
  await ask("stop");
  await page.waitForSelector('[data-connection="lost"]');
  const message = await page.locator(".overlay").innerText();
  const drawn = await page.locator(".map").getAttribute("data-version");
  await ask("start");
  await page.waitForSelector('[data-connection="open"]');
  await advance(page);
  await atStep(page, 1);
  return { message, drawn, overlay: await page.locator(".overlay").count() };
}

/** Two windows: one has control, the other is refused, asks for control twice and gets it; one leaves, and control is free. */
export async function hands({ open }) {
  const [one, two] = [await open(), await open({ width: 390, height: 844 })];
  await advance(one);
  await atStep(one, 1);
  await atStep(two, 1);
  await advance(two);
  await two.waitForSelector(".notice.problem");
  const refused = await two.locator(".notice.problem").innerText();
  const people = (page) => page.getByRole("button", { name: /^People/ });
  const ask = async () => {
    await people(two).click();
    await two.getByRole("button", { name: /for control/ }).click();
    await two.keyboard.press("Escape");
  };
  await ask();
  await one.getByRole("button", { name: "Not now" }).click();
  await two.getByText("keeps control").waitFor();
  await ask();
  await one.getByRole("button", { name: "Hand over" }).click();
  await two.getByText(/^You control “/).waitFor();
  await advance(two);
  await atStep(one, 2);
  const names = await people(one).getAttribute("aria-label");
  await two.close();
  await one.waitForFunction(() => !document.querySelector(".controller")?.innerText.includes("controls"));
  return { refused, names };
}

/** A page without a token asks for access under a name, and looks; its owner copies a link, which another browser opens. */
export async function invites({ open, given }) {
  const owner = await open({ view: given.view });
  const stranger = await open({ url: given.url.replace(/#.*/, "#nothing=1"), wait: false, width: 390, height: 844 });
  await stranger.getByLabel("Your name").fill("Ben");
  await stranger.getByRole("button", { name: "Ask for access" }).click();
  const number = await stranger.locator(".number").innerText();
  const question = await owner.locator(".request").innerText();
  await owner.getByRole("button", { name: "Let watch" }).click();
  await stranger.waitForSelector(".map[data-version]:not([data-version=''])");
  await owner.getByRole("button", { name: "People: 2 here" }).click();
  const people = await owner.locator(".person").allInnerTexts();
  await owner.keyboard.press("Escape");
  await owner.getByRole("button", { name: "Share this view" }).click();
  await owner.evaluate(() => { globalThis.ClipboardItem = undefined; navigator.clipboard.writeText = () => Promise.reject(new Error("no")); });
  await owner.getByRole("button", { name: "Copy a link to look" }).click();
  const link = await owner.locator("#share input").inputValue();
  const reader = await open({ url: link, exact: true });
  await reader.keyboard.press(".");
  await reader.waitForSelector(".notice.problem");
  return {
    number, question, people, link, refused: await reader.locator(".notice.problem").innerText(),
    address: await reader.evaluate(() => location.href), referrer: await reader.evaluate(() => document.referrer),
    view: JSON.parse(decodeURIComponent((await reader.evaluate(() => location.hash)).slice("#view=".length))), history: await reader.evaluate(() => history.length),
  };
}

/** A link to a branch that has ended opens its parent with a sentence, and keeps the view. */
export async function ends({ open, given, ask }) {
  const page = await open({ view: given.view });
  await page.getByRole("button", { name: "Share this view" }).click();
  await page.evaluate(() => { globalThis.ClipboardItem = undefined; navigator.clipboard.writeText = () => Promise.reject(new Error("no")); });
  await page.getByRole("button", { name: "Copy a link to look" }).click();
  const link = await page.locator("#share input").inputValue();
  await ask("end");
  const here = await page.getByText("has ended").first().innerText();
  const later = await open({ url: link, exact: true });
  const there = await later.getByText("has ended").first().innerText();
  return { here, there, view: JSON.parse(decodeURIComponent((await later.evaluate(() => location.hash)).slice("#view=".length))) };
}

/** Open a panel and all its collapsed parts, except those that a component collapses itself. */
async function unfold(page, panel) {
  await page.getByRole("tab", { name: panel }).click();
  if (panel === "Budget") await page.waitForSelector("#panel .facts");
  await page.evaluate(() => document.querySelectorAll("#panel details").forEach((each) => (each.open = true)));
  await settle(page);
}

/** Search for accessibility problems in each panel and theme. */
export async function admits({ open, given }) {
  const found = [];
  for (const theme of ["light", "dark"]) {
    const page = await open({ theme, view: { places: given.places } });
    await page.evaluate(readFileSync(AXE, "utf8"));
    for (const panel of PANELS) {
      await unfold(page, panel);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      for (const each of violations) {
        if (["serious", "critical"].includes(each.impact)) found.push(`${theme} ${panel}: ${each.id}: ${each.nodes[0].html}`);
      }
    }
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    const { violations } = await page.evaluate(() => globalThis.axe.run("dialog"));
    found.push(...violations.filter((each) => ["serious", "critical"].includes(each.impact)).map((each) => `${theme} help: ${each.id}`));
    await page.evaluate(() => document.querySelector("dialog").append(document.createElement("button")));
    const control = await page.evaluate(() => globalThis.axe.run("dialog"));
    if (!control.violations.some((each) => each.id === "button-name")) found.push("a button without a name was not found");
  }
  return found;
}

/** On the screen of a telephone no element is wider than the screen. */
export async function narrows({ open, given }) {
  const page = await open({ width: 360, height: 740, view: { places: given.places ?? [] } });
  const wide = [];
  for (const panel of PANELS) {
    await unfold(page, panel);
    wide.push(await page.evaluate(() => document.documentElement.scrollWidth));
  }
  await page.screenshot({ path: given.picture });
  return wide;
}

/** By keyboard only: the help, a place, a level; and a wrong token. */
export async function types({ open, given }) {
  const page = await open();
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  const keys = await page.locator("dialog dt kbd").allInnerTexts();
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await settle(page);
  await page.locator(".map").focus();
  for (const key of ["ArrowUp", "ArrowRight", "Enter"]) await page.keyboard.press(key);
  await page.waitForSelector(".key");
  await page.keyboard.press("]");
  const level = JSON.parse(decodeURIComponent((await page.evaluate(() => location.hash)).slice("#view=".length))).level;
  const stranger = await open({ url: given.url.replace(/token=.*/, "token=wrong"), wait: false });
  await stranger.waitForSelector('[data-connection="refused"]');
  return { keys, level, refused: await stranger.locator(".overlay").innerText() };
}

/** Save the displayed field, and open a user's case file. */
export async function files({ open, given }) {
  const page = await open({ view: { variable: given.variable } });
  const saved = [];
  for (const name of ["Picture of the map", "Data of this hour"]) {
    await page.getByRole("button", { name: "Save …" }).click();
    const download = page.waitForEvent("download");
    await page.getByRole("menuitem", { name }).click();
    const file = await download;
    const content = readFileSync(await file.path());
    const size = name.startsWith("Picture") ? [16, 20].map((at) => content.readUInt32BE(at)) : null;
    saved.push([file.suggestedFilename(), content.subarray(0, 4).toString("latin1"), size]);
  }
  await page.getByRole("tab", { name: "What if?" }).click();
  await page.getByText("Open another case").click();
  const choose = async (text) =>
    page.getByLabel("Or open your own case file").setInputFiles({ name: "mine.toml", mimeType: "text/plain", buffer: Buffer.from(text) });
  await choose(given.wrong);
  const message = await page.locator(".notice.problem").first().innerText();
  await choose(given.toml);
  await page.waitForFunction((title) => document.querySelector(".top .title")?.innerText === title, given.title);
  return { saved, message };
}

/** Open another case; return the labels on its map. */
export async function opens({ open, given }) {
  const before = () => {
    globalThis.written = [];
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
      globalThis.written.push(text);
      write.call(this, text, x, y);
    };
  };
  const page = await open({ view: { panel: "scenario" }, before });
  await settle(page);
  await page.getByText("Open another case").click();
  await page.getByRole("button", { name: given.name }).click();
  await page.waitForFunction((title) => document.querySelector(".top .title")?.innerText === title, given.title);
  await page.waitForFunction((word) => globalThis.written.includes(word), given.word, { timeout: 10000 });
  return true;
}

/** By keyboard: read a limit on the colour scale, change the unit, and set the range in the menu of the scale. */
export async function scales({ open, given }) {
  const page = await open({ view: { variable: given.variable, wind: "particles" } });
  const legend = page.getByRole("region", { name: "Colour scale" });
  const unit = async () => await legend.locator(".unit").innerText();
  await legend.getByRole("list", { name: "Limit values" }).getByRole("button").first().focus();
  const limits = [await legend.locator(".limitname").innerText()];
  await page.keyboard.press("ArrowRight");
  limits.push(await legend.locator(".limitname").innerText());
  const usual = { ...(await scale(page)), unit: await unit(), sentence: await legend.getByRole("img").getAttribute("aria-label") };
  await page.keyboard.press("u");
  await page.waitForFunction(() => document.querySelector(".legend .unit").innerText === "ppb");
  const other = await scale(page);
  await legend.getByRole("button", { name: /^Scale/ }).press("Enter");
  await legend.getByLabel("own numbers").press("Space");
  await legend.getByLabel("to", { exact: true }).fill("77");
  await legend.getByLabel("to", { exact: true }).press("Enter");
  await page.waitForFunction(() => document.querySelector(".legend").dataset.high === "77");
  await page.evaluate(readFileSync(AXE, "utf8"));
  const { violations } = await page.evaluate(() => globalThis.axe.run(".legend"));
  await page.keyboard.press("Escape");
  return { limits, usual, other, violations: violations.map((each) => each.id), menu: await legend.locator(".scalemenu").count(), wind: await legend.locator(".windkey").innerText() };
}
