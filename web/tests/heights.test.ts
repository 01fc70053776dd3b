import { expect, test } from "vitest";
import { heightText } from "../src/state/heights";

test("heights are words, rounded", () => {
  const heights = [10, 35, 315, 4915];
  expect([0, 1, 2, 3].map((level) => heightText(heights, level))).toEqual(["at the ground", "≈ 35 m", "≈ 320 m", "≈ 4.9 km"]);
  expect(heightText([], 2, 4)).toBe("layer 3");
  expect(heightText(heights, 2, 5)).toBe("layer 3"); // the heights are of another grid
});
