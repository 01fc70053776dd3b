// The connection: the token, requests, subscriptions renewed after a lost connection, events.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { access } from "../src/protocol/access";
import { Http, Refused } from "../src/protocol/http";
import { Link } from "../src/protocol/link";
import { begin, connection, dismiss, geography, learn, infos, latest, link as linkOfPage, logs, notices, notify, past, sessions } from "../src/state/store";
import { view } from "../src/state/view";
import { encoded, field, frame, header, model, see } from "./samples";

class Socket {
  static readonly OPEN = 1;
  static all: Socket[] = [];
  readyState = 1;
  sent: Record<string, unknown>[] = [];
  onopen?: () => void;
  onmessage?: (message: { data: unknown }) => void;
  onclose?: (event: { code: number }) => void;

  constructor(readonly url: URL) {
    Socket.all.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>);
  }

  receive(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }

  lose(code = 1006): void {
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

const newest = (): Socket => Socket.all.at(-1)!;
const frameOf = (subscription: string): ArrayBuffer => encoded(header({ subscription }), new Uint8Array(8)).buffer as ArrayBuffer;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", Socket);
  Socket.all = [];
});

afterEach(() => vi.useRealTimers());

describe("the token", () => {
  it("leaves the address, and stays for reloads of the page", () => {
    const replaced = vi.spyOn(history, "replaceState");
    location.hash = "#token=a%2Fb&view=%7B%7D";
    expect(access().token).toBe("a/b");
    expect(replaced.mock.calls).toEqual([[null, "", "/#view=%7B%7D"]]);
    location.hash = "";
    expect(access().token).toBe("a/b");
  });

  it("has a random name of the page with it, always the same", () => {
    expect(access().client).toMatch(/^[0-9a-f]{32}$/);
    expect(access().client).toBe(access().client);
  });
});

describe("requests", () => {
  const http = new Http({ token: "t", client: "c", author: "a", named: false });
  const answer = (status: number, text: string) => vi.stubGlobal("fetch", vi.fn(async () => new Response(text, { status })));

  it("carry token, page and author, and a body as JSON", async () => {
    answer(200, '{"x": 1}');
    expect(await http.send("POST", "/sessions", { case: "k" })).toEqual({ x: 1 });
    const [path, options] = vi.mocked(fetch).mock.calls[0]!;
    expect(path).toBe("api/sessions");
    expect(options).toMatchObject({ method: "POST", body: '{"case":"k"}', keepalive: false, headers: {
      Authorization: "Bearer t", "X-Airshed-Client": "c", "X-Airshed-Author": "a", "Content-Type": "application/json",
    } });
    answer(200, "");
    expect(await http.send("DELETE", "/control")).toBeNull();
    expect(vi.mocked(fetch).mock.calls[0]![1]).toMatchObject({ method: "DELETE", keepalive: true }); // outlives the page
  });

  it("that are refused throw the message of the server, or its status", async () => {
    answer(409, '{"message": "another one controls"}');
    await expect(http.get("/x")).rejects.toThrow(new Refused(409, "another one controls"));
    answer(502, "<html>");
    await expect(http.get("/x")).rejects.toThrow("the server responded with 502");
  });
});

describe("the link", () => {
  const told = { connection: vi.fn(), event: vi.fn(), frame: vi.fn(), problem: vi.fn() };
  const subscription = { id: "map:main", variable: "O3" };
  let link: Link;

  beforeEach(() => {
    vi.clearAllMocks();
    link = new Link({ token: "t", client: "c", author: "a", named: false }, told);
    link.open();
    newest().onopen?.();
  });

  const hello = () => newest().receive({ event: "hello", session: "main" });
  const states = () => told.connection.mock.calls.map((each) => each[0] as string);

  it("opens a socket at the page's address, and sends a hello", () => {
    expect(String(newest().url)).toBe("ws://127.0.0.1/api/live");
    expect(newest().sent).toEqual([{ token: "t", client: "c", author: "a" }]);
    hello();
    hello();
    expect(states()).toEqual(["connecting", "open"]);
  });

  it("passes on subscribed frames only", () => {
    hello();
    link.subscribe(subscription);
    for (const id of ["map:main", "other"]) newest().onmessage?.({ data: frameOf(id) });
    expect(told.frame).toHaveBeenCalledTimes(1);
    link.unsubscribe("map:main");
    newest().onmessage?.({ data: frameOf("map:main") });
    expect(told.frame).toHaveBeenCalledTimes(1);
    expect(newest().sent.slice(1)).toEqual([{ subscribe: subscription }, { unsubscribe: "map:main" }]);
  });

  it("connects again after longer and longer times, with the same subscriptions", () => {
    hello();
    link.subscribe(subscription);
    link.subscribe({ id: "gone", variable: "O3" });
    link.unsubscribe("gone");
    link.subscribeBudgets("main");
    const waits: number[] = [];
    for (let k = 0; k < 7; k++) {
      newest().lose();
      waits.push((told.connection.mock.lastCall![1] as number) - Date.now());
      vi.advanceTimersByTime(waits.at(-1)! - 1);
      expect(Socket.all.length).toBe(k + 1);
      vi.advanceTimersByTime(1);
      expect(Socket.all.length).toBe(k + 2);
    }
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000]);
    hello();
    expect(newest().sent).toEqual([{ subscribe: subscription }, { subscribe_budgets: { session: "main" } }]);
    newest().lose();
    expect((told.connection.mock.lastCall![1] as number) - Date.now()).toBe(250);
  });

  it("does not connect again when the token is refused", () => {
    newest().lose(1008);
    vi.advanceTimersByTime(1e6);
    expect([states().at(-1), Socket.all.length]).toEqual(["refused", 1]);
  });

  it("ignores the end of a socket that another one replaced", () => {
    const old = newest();
    link.open();
    old.lose();
    expect(states()).toEqual(["connecting", "connecting"]);
  });

  it("gives each command its own reply", async () => {
    const [one, other] = [link.command("main", { kind: "pause" }), link.command("main", { kind: "step" })];
    expect(newest().sent.slice(1)).toEqual([
      { command: { kind: "pause" }, session: "main", id: 1 }, { command: { kind: "step" }, session: "main", id: 2 },
    ]);
    newest().receive({ reply: 2, ok: false, problem: { message: "no" } });
    newest().receive({ reply: 1, ok: true, result: { done: 1 } });
    expect(await one).toEqual({ done: 1 });
    await expect(other).rejects.toThrow("no");
    const third = link.command("main", { kind: "pause" });
    newest().receive({ reply: 3, ok: false, result: { done: 1 } });
    await expect(third).rejects.toThrow("the server refused");
  });

  it("rejects commands without a connection, and those whose reply is lost", async () => {
    const waiting = link.command("main", { kind: "pause" });
    newest().lose();
    await expect(waiting).rejects.toThrow("the connection was lost before the reply arrived");
    await expect(link.command("main", { kind: "pause" })).rejects.toThrow("there is no connection to the server");
  });

  it("reports problems of subscriptions", () => {
    newest().receive({ reply: "map:main", ok: false, problem: { message: "no such variable" } });
    expect(told.problem.mock.calls).toEqual([["no such variable"]]);
  });
});

describe("the page", () => {
  const state = (session: string, step: number) => ({ session, step });

  beforeEach(() => {
    vi.stubGlobal("fetch", vi.fn(async () => Promise.reject(new Error("no server"))));
    infos.value = {};
    sessions.value = {};
    notices.value = [];
    linkOfPage.open();
    newest().onopen?.();
    newest().receive({ event: "hello", session: null });
  });

  it("stores the states of sessions, and the log", () => {
    newest().receive({ event: "state", session: "main", state: state("main", 3) });
    newest().receive({ event: "log", session: "main", entry: { number: 1 } });
    newest().receive({ event: "log", session: "main", entry: { number: 2 } });
    expect(connection.value).toBe("open");
    expect(sessions.value["main"]).toEqual(state("main", 3));
    expect(logs.value["main"]).toEqual([{ number: 1 }, { number: 2 }]);
  });

  it("discards a session that was closed, with its past", () => {
    for (const name of ["main", "two"]) newest().receive({ event: "state", session: name, state: state(name, 0) });
    past("two").add(frame(0));
    newest().receive({ event: "closed", session: "two" });
    expect(Object.keys(sessions.value)).toEqual(["main"]);
    expect(past("two").last).toBeNull();
  });

  it("stores frames of maps in the past of their session, and the latest of others", () => {
    for (const id of ["map:main", "air"]) {
      linkOfPage.subscribe({ id, variable: "O3" });
      newest().onmessage?.({ data: frameOf(id) });
    }
    expect(past("main").last?.header.subscription).toBe("map:main");
    expect(Object.keys(latest.value)).toEqual(["air"]);
  });

  it("shows the latest three notices, each text once, for a while", () => {
    for (const text of ["a", "b", "c", "d", "b"]) notify("done", text);
    notify("problem", "p");
    expect(notices.value.map((each) => each.text)).toEqual(["d", "b", "p"]);
    vi.advanceTimersByTime(4000);
    expect(notices.value.map((each) => each.text)).toEqual(["p"]);
    vi.advanceTimersByTime(5000);
    expect(notices.value).toEqual([]);
    notify("done", "e");
    dismiss(notices.value[0]!.id);
    expect(notices.value).toEqual([]);
  });
});

describe("a model that becomes known", () => {
  let asked: string[];
  const state = { session: "three", parent: null, step: 0 };

  beforeEach(() => {
    asked = [];
    infos.value = {};
    notices.value = [];
    sessions.value = {};
    see({ session: "three", variable: "O3", level: 2 });
    vi.stubGlobal("fetch", vi.fn(async (path: string) => {
      asked.push(path.replace("api/sessions/", ""));
      if (path.endsWith("/info")) return Response.json({ ...model([field("NO2"), field("O3", {}, 3)]), state });
      if (/land|coast|borders|data/.test(path)) return new Response(frameOf("x"));
      if (path.endsWith("/log")) return Response.json([{ number: 7 }]);
      return Response.json(path === "api/sessions" ? [state] : []);
    }));
  });

  it("has its field requested at its level, its map, and its log", async () => {
    await learn("three");
    expect(asked).toEqual([
      "three/info", "three/data/O3?level=2", "three/geography/land", "three/geography/coast", "three/geography/borders", "three/geography/cities", "three/log",
    ]);
    expect(past("three").last?.header.variable).toBe("O3");
    expect(geography.value?.cities).toEqual([]);
    expect(logs.value["three"]).toEqual([{ number: 7 }]);
  });

  it("has its map and first field requested once", async () => {
    await learn("three");
    expect(asked).toEqual(["three/info", "three/log"]);
    see({ session: "four", variable: "NO2" });
    asked = [];
    await learn("four");
    expect(asked[1]).toBe("four/data/NO2"); // a field without levels
  });

  it("is learned when it is opened, not at each state", () => {
    linkOfPage.open();
    newest().onopen?.();
    newest().receive({ event: "state", session: "three", state });
    expect(asked).toEqual([]);
    newest().receive({ event: "opened", session: "three", state });
    expect(asked).toEqual(["three/info", "three/control"]);
  });

  it("is shown with a field that it has, and another session where the one of the address is not there", async () => {
    see({ session: "three" });
    begin(true);
    await vi.waitFor(() => expect(view.value.variable).toBe("O3"));
    sessions.value = { three: state as never, two: state as never };
    expect(view.value.session).toBe("three");
    sessions.value = { two: { ...state, session: "two" } as never };
    expect(view.value.session).toBe("two");
  });
});
