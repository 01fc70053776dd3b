import { afterEach, expect, test } from "vitest";
import type { SessionState } from "../src/protocol/types";
import { csvText } from "../src/state/csv";
import { fileName, slug } from "../src/state/export";
import { sessions } from "../src/state/store";
import { look, view } from "../src/state/view";

const before = view.value;
afterEach(() => {
  view.value = before;
  sessions.value = {};
});

test("a table has a row for each time of any curve", () => {
  const columns = [{ title: "Ozone [ppb], Paris", points: [[0, 1.25], [2, NaN]] }, { title: 'a "b"', points: [[1, 3], [0, 4]] }] as const;
  expect(csvText("time", columns, (at) => `t${at}`)).toBe('time,"Ozone [ppb], Paris","a ""b"""\r\nt0,1.25,4\r\nt1,,3\r\nt2,,\r\n');
});

test("a table without curves has its head only", () => expect(csvText("x", [])).toBe("x\r\n"));

test.each([["Road transport −80 %, Germany", "Road-transport-80-Germany"], ["Köln", "Koln"], ["../x", "..-x"], ["a".repeat(99), "a".repeat(60)]])(
  "%s is %s in a file name", (text, expected) => expect(slug(text)).toBe(expected));

test("a file name has the case, the branch, the field and the hour", () => {
  const state = (session: string, parent: string | null) => ({ session, case: "west-europe", parent, scenario: parent ? "Road transport −50 %, Germany" : "" }) as SessionState;
  sessions.value = { main: state("main", null), b1: state("b1", "main") };
  look({ variable: "O3" });
  expect(fileName(["2022-08-31T1500"], "png")).toBe("west-europe-2022-08-31T1500.png"); // without a model there is no field
  look({ session: "b1" });
  expect(fileName(["series"], "csv")).toBe("west-europe-Road-transport-50-Germany-series.csv");
});
