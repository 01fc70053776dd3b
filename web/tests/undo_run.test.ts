// Undo of a scenario: its run is removed, and comes back with the same changes.
import { beforeEach, expect, test, vi } from "vitest";
import "./browser";
import type { LogEntry, SessionState } from "../src/protocol/types";
import { opened } from "../src/state/scenario";
import { http, infos, link, logs, sessions } from "../src/state/store";
import { canBringBack, forgetUndone, redo, triedRun, undo } from "../src/state/undo";
import { look, view } from "../src/state/view";

const state = (session: string, given: Partial<SessionState> = {}): SessionState =>
  ({ session, parent: null, title: "", case: "", scenario: "", seconds: 0, time: "2020-01-01T00:00:00Z", status: "paused", recorded: false, ...given }) as SessionState;
const tried = state("b1", { parent: "main", scenario: "Road transport −50 %, Germany" });
const CHANGES = { "emissions.scale.DE/F_RoadTransport": 0.5 };

beforeEach(() => {
  forgetUndone();
  logs.value = {};
  sessions.value = { main: state("main"), b1: tried };
  opened.value = { b1: { from: "main", snapshot: "start", changes: CHANGES, scenario: tried.scenario, after: -1 } };
  look({ session: "main", other: "b1" });
});

test("the scenario is removed, and brought back with its changes", async () => {
  const send = vi.spyOn(http, "send").mockResolvedValue(null as never);
  expect(triedRun.value).toBe("b1");
  await undo();
  expect(send).toHaveBeenCalledWith("DELETE", "/sessions/b1");
  expect([view.value.session, view.value.other, canBringBack.value]).toEqual(["main", null, true]);

  const again = { ...tried, session: "b2" };
  infos.value = { ...infos.value, b2: {} as never };
  const command = vi.spyOn(link, "command").mockResolvedValue({ state: state("main"), branch: again } as never);
  await redo();
  expect(command).toHaveBeenCalledWith("main", { kind: "branch", snapshot: "start", changes: CHANGES, scenario: tried.scenario });
  expect([view.value.session, view.value.other, canBringBack.value, triedRun.value]).toEqual(["main", "b2", false, "b2"]);
});

test("a run that the server keeps stays displayed", async () => {
  vi.spyOn(http, "send").mockRejectedValue(new Error("no"));
  await undo();
  expect([view.value.other, canBringBack.value]).toEqual(["b1", false]);
});

test("a displayed scenario is removed in favour of its parent", async () => {
  vi.spyOn(http, "send").mockResolvedValue(null as never);
  look({ session: "b1", other: null });
  await undo();
  expect(view.value.session).toBe("main");
});

test("a later change of the displayed run comes before the scenario, and other branches are left alone", () => {
  logs.value = { main: [{ number: 0, seconds: 0, author: "", command: { kind: "set", changes: { "emissions.biogenic": false } } } as unknown as LogEntry] };
  expect(triedRun.value).toBeNull();
  logs.value = {};
  opened.value = {};
  expect(triedRun.value).toBeNull();
});
