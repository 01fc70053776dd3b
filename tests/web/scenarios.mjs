// What a person does in the browser; each returns what was seen, and Python judges that.

const clock = (page) => page.locator(".clock");
const step = async (page) => Number(await clock(page).getAttribute("data-step"));
const atStep = (page, count) =>
  page.waitForFunction((wanted) => Number(document.querySelector(".clock")?.dataset.step) >= wanted, count);
const status = (page, wanted) => page.waitForSelector(`.clock[data-status="${wanted}"]`);
const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Where on the screen a place lies, by the box that the map says it shows. */
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
  await page.getByRole("button", { name: "One step" }).click();
  await atStep(page, 1);
  const stepped = await step(page);
  await page.locator(".speed select").selectOption("20");
  await page.getByRole("button", { name: "Play" }).click();
  await status(page, "running");
  await atStep(page, stepped + 3);
  await page.getByRole("button", { name: "Pause" }).click();
  await status(page, "paused");
  const paused = await step(page);
  await page.waitForTimeout(400);
  return { title, stepped, paused, later: await step(page) };
}

/** Pick a field, a level, a range; take a picture, and say where the cells are on it. */
export async function shows({ open, given }) {
  const page = await open({ view: { lines: false, cities: false, ...given.view } });
  await settle(page);
  await page.mouse.move(2, 2);
  await settle(page);
  const places = [];
  for (const [lon, lat] of given.places) places.push(await pixel(page, lon, lat));
  await page.screenshot({ path: given.picture });
  const values = [];
  for (const [x, y] of places) {
    await page.mouse.move(x, y);
    await settle(page);
    values.push(await page.locator(".readout").evaluate((each) => [Number(each.dataset.row), Number(each.dataset.column), each.innerText]));
  }
  return { places, values, scale: await scale(page) };
}
