// People, control, links and runs that have ended.
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { AccessAnswer, Control, ServerEvent, SessionState } from "../src/protocol/types";
import { finish, ownRequest } from "../src/state/access_request";
import { askedFor, outcome } from "../src/state/control";
import { lineageOf, nearest, readLineage, writtenLineage } from "../src/state/ended";
import { changed, heard, isReader, listed, nameWanted, ownName, people, role, waiting } from "../src/state/people";
import { isLoopback, linkFor } from "../src/state/share";
import { controls, http, identity, link, sessions } from "../src/state/store";
import { look, read } from "../src/state/view";

const state = (session: string, parent: string | null = null, given: object = {}): SessionState =>
  ({ session, parent, title: "Western Europe", case: "west-europe", ...given }) as unknown as SessionState;
const control = (given: Partial<Control> = {}): Control => ({ controller: "Anna", yours: false, expires: 9, asking: null, asked: false, ...given });
const event = (given: object): ServerEvent => given as ServerEvent;

describe("people", () => {
  it("are those of the last event, with this page first and readers last", () => {
    heard(event({ event: "named", author: "Ben", role: "control" }));
    heard(event({ event: "people", people: [{ name: "Eve", role: "watch" }, { name: "Anna", role: "control" }, { name: "Ben", role: "control" }] }));
    expect(listed.value.map((each) => each.name)).toEqual(["Ben", "Anna", "Eve"]);
    expect([ownName.value, role.value, isReader.value]).toEqual(["Ben", "control", false]);
    expect(people.value).toHaveLength(3);
  });

  it("may be readers", () => {
    heard(event({ event: "named", author: "Eve", role: "watch" }));
    expect(isReader.value).toBe(true);
  });

  it("may request access", () => {
    expect(heard(event({ event: "access", waiting: [{ number: 1234, name: "Eve", role: "watch", address: "10.0.0.1" }] }))).toBe(true);
    expect(waiting.value.map((each) => each.number)).toEqual([1234]);
    expect(heard(event({ event: "state" }))).toBe(false);
  });

  it("have a name requested after their first change, not before, and once", () => {
    ownName.value = "Guest 2";
    nameWanted.value = false;
    changed("Anna", { named: false });
    expect(nameWanted.value).toBe(false);
    changed("Guest 2", { named: true });
    expect(nameWanted.value).toBe(false);
    changed("Guest 2", { named: false });
    expect(nameWanted.value).toBe(true);
  });
});

describe("control", () => {
  it("is reported to the person who requested it", () => {
    const asked = control({ asked: true, asking: "Ben" });
    expect(outcome(asked, control({ yours: true, controller: "Ben" }), "Europe")).toBe("You control “Europe” now.");
    expect(outcome(asked, control(), "Europe")).toBe("Anna keeps control of “Europe” for now.");
    expect(outcome(asked, control({ controller: null }), "Europe")).toBe("Control of “Europe” is free.");
  });

  it("is not reported to others, or before an answer", () => {
    expect(outcome(undefined, control({ yours: true }), "Europe")).toBeNull();
    expect(outcome(control(), control({ controller: "Ben" }), "Europe")).toBeNull();
    expect(outcome(control({ asked: true }), control({ asked: true }), "Europe")).toBeNull();
  });

  it("is requested from its holder, for each run", () => {
    sessions.value = { main: state("main"), b1: state("b1", "main") };
    controls.value = { main: control({ yours: true, asking: "Ben" }), b1: control({ asking: "Ben" }), gone: control({ yours: true, asking: "Ben" }) };
    expect(askedFor()).toEqual([["main", "Ben"]]);
  });
});

describe("a run that has ended", () => {
  const all = { main: state("main"), b1: state("b1", "main", { scenario: "Road transport −80 %" }), b2: state("b2", "b1", { scenario: "No ships" }) };
  const lineage = lineageOf("b2", all);
  const left = (...names: (keyof typeof all)[]) => Object.fromEntries(names.map((name) => [name, all[name]]));

  it("has its ancestors and their names in links", () => {
    expect(lineage).toEqual([["b2", "No ships"], ["b1", "Road transport −80 %"], ["main", "Western Europe"]]);
    expect(readLineage(`#view=x${writtenLineage(lineage)}`, "b2")).toEqual(lineage);
  });

  it("is replaced by its parent, otherwise by an older ancestor", () => {
    expect(nearest(lineage, all)).toEqual({ session: "b2", said: "" });
    expect(nearest(lineage, left("b1", "main"))).toEqual({ session: "b1", said: "The run “No ships” has ended. This is its parent, “Road transport −80 %”." });
    expect(nearest(lineage, left("main"))).toEqual({ session: "main", said: "The run “No ships” has ended. This is the nearest run, “Base run”." });
  });

  it("is not mistaken for another one of the same session", () => {
    const other = { ...left("main"), b2: state("b2", "main", { scenario: "Half of the ships" }) };
    expect(nearest(lineage, other)?.session).toBe("main");
    expect(nearest(lineage, { b2: other.b2 })).toBeNull();
  });

  it.each(["", "#run=1", "#run=[[1,2]]", "#run=%", `#run=${encodeURIComponent(JSON.stringify([["b1"]]))}`])("has the run alone in %s", (hash) => {
    expect(readLineage(hash, "b1")).toEqual([["b1", ""]]);
    expect(readLineage(hash, "main")).toEqual([]);
  });

  it("does not loop where runs are their own ancestors", () => {
    expect(lineageOf("b1", { b1: state("b1", "b1") }).length).toBeLessThanOrEqual(20);
  });
});

describe("a link", () => {
  beforeEach(() => {
    vi.stubGlobal("location", { ...location, origin: "http://127.0.0.1", pathname: "/" });
    vi.spyOn(http, "get").mockResolvedValue({ role: "control", watch: "token-of-readers", waiting: [] });
    Object.assign(identity, { token: "token-of-the-owner" });
    sessions.value = { main: state("main"), b1: state("b1", "main") };
    role.value = "control";
    look({ session: "b1", variable: "O3", at: 3600, places: [[7, 51]] });
  });

  it("to look has the token of readers and the whole view", async () => {
    const address = await linkFor("watch");
    expect(address).toContain("#token=token-of-readers&view=");
    expect(address).not.toContain("owner");
    expect(read(new URL(address).hash)).toMatchObject({ session: "b1", variable: "O3", at: 3600, places: [[7, 51]] });
    expect(readLineage(new URL(address).hash, "b1").map(([name]) => name)).toEqual(["b1", "main"]);
  });

  it("to control has the token of this page", async () => expect(await linkFor("control")).toContain("#token=token-of-the-owner&"));

  it("of a reader is always one to look", async () => {
    role.value = "watch";
    expect(await linkFor("control")).toContain("#token=token-of-readers&");
  });
});

describe("a request for access", () => {
  it.each([["granted", null], ["refused", "The request was refused."], ["unknown", "No answer came"]] as const)("that is %s", (status, end) => {
    const renewed = vi.spyOn(link, "renew").mockImplementation(() => undefined);
    const granted = status === "granted";
    finish({ status, token: granted ? "a-new-one" : null, role: granted ? "watch" : null } as AccessAnswer);
    expect(renewed).toHaveBeenCalledTimes(granted ? 1 : 0);
    if (granted) expect([identity.token, sessionStorage.getItem("airshed.token")]).toEqual(["a-new-one", "a-new-one"]);
    if (end === null) expect(ownRequest.value).toBeNull();
    else expect(ownRequest.value).toEqual({ end: expect.stringContaining(end) as string });
    vi.restoreAllMocks();
  });
});

describe("links on this computer", () => {
  it("are those of loopback names", () => {
    expect(["localhost", "127.0.0.1", "127.1.2.3", "[::1]", "air.localhost"].every(isLoopback)).toBe(true);
    expect(["example.org", "10.0.0.1", "localhost.example.org", "127.0.0.1.example.org"].some(isLoopback)).toBe(false);
  });
});
