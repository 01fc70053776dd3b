// Clicks on the map, keys, and their effects.
import { beforeEach, describe, expect, it, test, vi } from "vitest";
import { fit } from "../src/map/camera";
import { MAP_KEYS, onKey, setCamera } from "../src/map/keys";
import { BINDINGS, climb, helpOpen, listen, nextRange, nextUnit, scroll } from "../src/state/bindings";
import { cursor, infos } from "../src/state/store";
import { choose, clickAt, drawn, releaseAt, tool } from "../src/state/tools";
import { displayedTime, look, showTime, view } from "../src/state/view";
import { field, model, reach, receive, see } from "./samples";

beforeEach(() => {
  see({ variable: "O3" });
  infos.value = { main: model([field("O3", {}, 3)]) };
  choose("place");
  releaseAt.value = cursor.value = null;
  showTime(null);
});

describe("a click", () => {
  it("marks a place, to 0.0001 degrees, and shows its panel", () => {
    clickAt([7.123456, -50.987651]);
    expect([view.value.places, view.value.panel]).toEqual([[[7.1235, -50.9877]], "place"]);
  });

  it("keeps the latest six places", () => {
    for (let k = 0; k < 8; k++) clickAt([k, 0]);
    expect(view.value.places.map((each) => each[0])).toEqual([2, 3, 4, 5, 6, 7]);
  });

  it("begins a line, and ends it", () => {
    choose("line");
    clickAt([1, 50]);
    expect([drawn.value, view.value.line]).toEqual([[[1, 50]], null]);
    clickAt([3, 51]);
    expect(view.value.line).toEqual([[1, 50], [3, 51]]);
    expect([drawn.value, tool.value]).toEqual([[], "place"]);
  });

  it("adds a corner to an area, and moves the place of a release", () => {
    choose("paint");
    for (const corner of [[0, 50], [1, 50], [1, 51]] as const) clickAt(corner);
    expect(drawn.value).toEqual([[0, 50], [1, 50], [1, 51]]);
    choose("release");
    expect(drawn.value).toEqual([]);
    clickAt([2, 50]);
    clickAt([3, 51]);
    expect([releaseAt.value, view.value.places]).toEqual([[3, 51], []]);
  });
});

describe("keys of the map", () => {
  const camera = fit({ west: 0, east: 4, south: 50, north: 52 }, 400, 200, 0);

  it("move the cursor from cell to cell, from the middle, and not beyond the edges", () => {
    const centres = ["ArrowUp", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft"].map((key) => {
      expect(onKey(key, camera)).toBe(true);
      return cursor.value;
    });
    expect(centres).toEqual([[2.5, 51.5], [3.5, 51.5], [3.5, 51.5], [3.5, 50.5], [3.5, 50.5], [2.5, 50.5]]);
  });

  it("begin in the middle of the visible area, or of the map where it is out of sight", () => {
    onKey("ArrowUp", { ...camera, lon: 0.4, lat: 50.2 });
    expect(cursor.value).toEqual([0.5, 51.5]);
    cursor.value = [99, 0];
    infos.value = { main: model([field("O3")], { rows: 3, columns: 5 }) };
    onKey("ArrowRight", { ...camera, lon: 90 });
    const [lon, lat] = cursor.value;
    expect([lon, lat].map((each) => Number(each.toFixed(6)))).toEqual([2.8, 51]);
  });

  it("mark the cell of the cursor, if there is one", () => {
    onKey("Enter", camera);
    expect(view.value.places).toEqual([]);
    onKey("ArrowUp", camera);
    onKey("Enter", camera);
    expect(view.value.places).toEqual([[2.5, 51.5]]);
  });

  it("zoom about the middle, and show the whole map again", () => {
    onKey("+", camera);
    expect(view.value.camera).toEqual([2, 51, Number((1.4 * camera.scale).toPrecision(7))]);
    onKey("-", { ...camera, scale: 1.4 * camera.scale });
    expect(view.value.camera?.[2]).toBeCloseTo(camera.scale, 4);
    onKey("0", camera);
    expect(view.value.camera).toBeNull();
  });

  it("leave other keys to the page", () => expect(onKey("x", camera)).toBe(false));

  it("store the camera with seven digits", () => {
    setCamera({ ...camera, lon: 1 / 3, lat: 200 / 3, scale: 1e3 / 7 });
    expect(view.value.camera).toEqual([0.3333333, 66.66667, 142.8571]);
  });
});

describe("keys of the page", () => {
  it("are different from each other and from those of the map", () => {
    const all = [...BINDINGS, ...MAP_KEYS].flatMap((each) => each.keys);
    expect(all.length).toBe(new Set(all).size);
  });

  it("look back from frame to frame, and return to the present", () => {
    for (const seconds of [0, 60, 120]) receive("main", seconds, [1]);
    reach(120);
    const visited = [-1, -1, -1, 1, 1, 1].map((frames) => {
      scroll(frames);
      return displayedTime.value;
    });
    expect(visited).toEqual([60, 0, 0, 60, null, null]);
  });

  it("climb the levels that there are", () => {
    const visited = [1, 1, 1, -1, -9].map((levels) => {
      climb(levels);
      return view.value.level;
    });
    expect(visited).toEqual([1, 2, 2, 1, 0]);
    infos.value = { main: model([field("O3")]) };
    climb(1);
    expect(view.value.level).toBe(0);
  });

  it("go round the units, with a new range", () => {
    const visited = [1, 2, 3].map(() => {
      look({ range: [0, 1] });
      nextUnit();
      return [view.value.unit, view.value.range];
    });
    expect(visited).toEqual([["ppm", null], ["ppt", null], ["ppb", null]]);
    see({ range: [0, 1] }); // no field is shown
    nextUnit();
    expect(view.value.range).toEqual([0, 1]);
  });

  it("change between the range of the field and that of the map", () => {
    nextRange();
    expect(view.value.range).toBe("map");
    nextRange();
    expect(view.value.range).toBeNull();
  });
});

describe("a key that is pressed", () => {
  class Input {
    readonly tagName = "INPUT";
    constructor(readonly type: string) {}
    readonly closest = (): null => null;
  }
  const element = (tagName: string, inDialog = false) => ({ tagName, closest: () => (inDialog ? {} : null) });
  let handle: (event: unknown) => void;
  vi.stubGlobal("HTMLInputElement", Input);
  vi.stubGlobal("addEventListener", (_: string, handler: typeof handle) => (handle = handler));
  listen();

  /** Return whether the page uses a key. */
  function press(key: string, target: unknown = element("BODY"), more = {}): boolean {
    const event = { key, target, ctrlKey: false, metaKey: false, altKey: false, preventDefault: vi.fn(), ...more };
    handle(event);
    return event.preventDefault.mock.calls.length === 1;
  }

  it("has the effect of its binding", () => {
    expect(press("c")).toBe(true);
    expect(view.value.contours).toBe(true);
    expect(press("7")).toBe(true);
    expect(view.value.panel).toBe("settings");
    for (const wind of ["arrows", "particles", "none"]) {
      press("w");
      expect(view.value.wind).toBe(wind);
    }
    expect(press("x")).toBe(false);
  });

  test.each(["ctrlKey", "metaKey", "altKey"])("with %s is left to the browser", (modifier) => {
    expect(press("c", undefined, { [modifier]: true })).toBe(false);
    expect(view.value.contours).toBe(false);
  });

  test.each([
    ["c", new Input("text"), false], ["c", element("SELECT"), false], ["c", element("TEXTAREA"), false], ["c", element("BUTTON"), true],
    ["c", new Input("range"), true], ["Home", new Input("range"), false], ["c", new Input("checkbox"), true], [" ", new Input("checkbox"), false],
    [" ", element("BUTTON"), false], [" ", element("SUMMARY"), false], ["c", element("BODY", true), false],
  ])("%j on %o is used by the page: %s", (key, target, used) => expect(press(key, target)).toBe(used));

  it("opens the help, and closes it from within", () => {
    press("?");
    expect(helpOpen.value).toBe(true);
    press("?", element("BUTTON", true));
    expect(helpOpen.value).toBe(false);
  });
});
