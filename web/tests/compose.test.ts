import { describe, expect, test, vi } from "vitest";
import { drawMaps, placeIn, type Part } from "../src/map/compose";

const HEAD = 62;
const box = (left: number, top: number, width: number, height: number): Part => ({ left, top, width, height });
const placed = (part: Part) => ({ getBoundingClientRect: () => part });
const canvas = (name: string, part: Part, density: number, hidden = false) =>
  ({ ...placed(part), name, hidden, width: part.width * density, height: part.height * density });
const one = (part: Part, layers: object[], side?: string) => ({ ...placed(part), dataset: { side }, querySelectorAll: () => layers });
const maps = (all: object[]) => ({ querySelectorAll: () => all }) as unknown as HTMLElement;

/** Return the drawn layers, each with its place, and the clips before it. */
function drawing(of: HTMLElement, free: Part, swipe = 0.5) {
  vi.stubGlobal("getComputedStyle", () => ({ backgroundColor: "white" }));
  const [layers, clips]: [Record<string, number[]>, number[][]] = [{}, []];
  const pen = {
    save() {}, restore() {}, beginPath() {}, clip() {}, fillRect() {}, rect: (...place: number[]) => void clips.push(place),
    drawImage: ({ name }: { name: string }, ...place: number[]) => void (layers[name] = place),
  };
  drawMaps(pen as unknown as CanvasRenderingContext2D, of, free, swipe);
  return { layers, clips };
}

test.each([1, 2, 3])("each layer has its own place in the picture, with %d pixels per CSS pixel", (density) => {
  const whole = box(0, 0, 1000, 800);
  const layers = [canvas("field", box(300, 200, 400, 500), density), canvas("coasts", whole, density), canvas("off", whole, density, true)];
  const { layers: drawn } = drawing(maps([one(whole, layers)]), box(0, 50, 700, 650));
  expect(drawn).toEqual({ field: [300, 150 + HEAD, 400, 500], coasts: [0, HEAD - 50, 1000, 800] });
  expect(drawn["field"]).not.toEqual(drawn["coasts"]); // a field that is stretched over its map is at a wrong place
});

describe("two runs", () => {
  test("side by side are at the places of their maps", () => {
    const [left, right] = [box(0, 0, 499, 800), box(501, 0, 499, 800)];
    const fields = [canvas("one", box(100, 100, 300, 300), 2), canvas("other", box(601, 100, 300, 300), 2)];
    const { layers, clips } = drawing(maps([one(left, [fields[0]!]), one(right, [fields[1]!])]), box(0, 0, 1000, 800));
    expect(layers).toEqual({ one: [100, 100 + HEAD, 300, 300], other: [601, 100 + HEAD, 300, 300] });
    expect(clips).toHaveLength(1);
  });

  test("with a line between them are drawn at one side each", () => {
    const whole = box(0, 0, 1000, 800);
    const two = ["left", "right"].map((side) => one(whole, [canvas(side, box(100, 100, 300, 300), 1)], side));
    const { clips } = drawing(maps(two), box(0, 50, 600, 700), 0.25);
    expect(clips).toEqual([[0, HEAD, 600, 700], [0, HEAD, 150, 700], [150, HEAD, 450, 700]]);
  });
});

test("a place in the picture is below its head", () => expect(placeIn(box(10, 20, 90, 90), box(30, 50, 5, 6))).toEqual([20, 30 + HEAD, 5, 6]));
