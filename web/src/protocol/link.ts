// The WebSocket: subscriptions that are renewed after a lost connection, commands with replies, events.
import type { Access } from "./access";
import { decodeFrames, type Frame } from "./frames";
import type { Command, Reply, Result, ServerEvent, Subscription } from "./types";

export type Connection = "connecting" | "open" | "lost" | "refused";

export interface Listener {
  connection(now: Connection, retryAt: number | null): void;
  event(event: ServerEvent): void;
  frame(frame: Frame): void;
  problem(message: string): void;
}

interface Waiting {
  resolve(result: Result): void;
  reject(error: Error): void;
}

const FIRST_WAIT = 250;
const LONGEST_WAIT = 5000;
const REFUSED = 1008;

export class Link {
  private socket: WebSocket | null = null;
  private readonly subscriptions = new Map<string, Subscription>();
  private budgets: string | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private next = 1;
  private wait = FIRST_WAIT;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly access: Access,
    private readonly listener: Listener,
  ) {}

  open(): void {
    clearTimeout(this.timer);
    this.listener.connection("connecting", null);
    const url = new URL("api/live", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    url.hash = "";
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => this.send({ token: this.access.token, client: this.access.client, author: this.access.author });
    socket.onmessage = (message) => this.read(message.data as string | ArrayBuffer);
    socket.onclose = (event) => this.closed(socket, event.code);
    this.socket = socket;
  }

  /** Connect again, with another token. */
  renew(): void {
    const before = this.socket;
    this.wait = FIRST_WAIT;
    this.open();
    before?.close();
  }

  rename(name: string): void {
    this.send({ rename: name });
  }

  /** Subscribe to frames; replaces an earlier subscription with the same id. */
  subscribe(subscription: Subscription): void {
    this.subscriptions.set(subscription.id, subscription);
    this.send({ subscribe: subscription });
  }

  unsubscribe(id: string): void {
    if (this.subscriptions.delete(id)) this.send({ unsubscribe: id });
  }

  /** Subscribe to the budgets of a session; null ends the subscription. */
  subscribeBudgets(session: string | null): void {
    if (this.budgets !== null) this.send({ unsubscribe_budgets: this.budgets });
    this.budgets = session;
    this.sendBudgets();
  }

  private sendBudgets(): void {
    if (this.budgets !== null) this.send({ subscribe_budgets: { session: this.budgets } });
  }

  command(session: string, command: Command): Promise<Result> {
    const id = this.next++;
    if (this.socket?.readyState !== WebSocket.OPEN) return Promise.reject(new Error("there is no connection to the server"));
    this.socket.send(JSON.stringify({ command, session, id }));
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  private send(message: unknown): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  private read(data: string | ArrayBuffer): void {
    if (data instanceof ArrayBuffer) {
      for (const frame of decodeFrames(data)) this.gotFrame(frame);
      return;
    }
    const message = JSON.parse(data) as Reply | ServerEvent;
    if ("reply" in message) this.gotReply(message);
    else this.gotEvent(message);
  }

  private gotFrame(frame: Frame): void {
    const id = frame.header.subscription;
    if (id === null || !this.subscriptions.has(id)) return; // the subscription has ended in the meantime
    this.listener.frame(frame);
  }

  private gotEvent(event: ServerEvent): void {
    if (event.event === "hello") this.welcomed();
    this.listener.event(event);
  }

  /** The server sends a hello for each session: only the first one is handled. */
  private welcomed(): void {
    if (this.wait === 0) return;
    this.wait = 0;
    this.listener.connection("open", null);
    for (const subscription of this.subscriptions.values()) this.send({ subscribe: subscription });
    this.sendBudgets();
  }

  private gotReply(reply: Reply): void {
    const message = reply.problem?.message ?? "the server refused the request without a message";
    if (typeof reply.reply === "string") {
      this.listener.problem(message);
      return;
    }
    const waiting = this.waiting.get(reply.reply);
    this.waiting.delete(reply.reply);
    if (reply.ok && reply.result) waiting?.resolve(reply.result);
    else waiting?.reject(new Error(message));
  }

  private closed(socket: WebSocket, code: number): void {
    if (socket !== this.socket) return;
    for (const each of this.waiting.values()) each.reject(new Error("the connection was lost before the reply arrived"));
    this.waiting.clear();
    if (code === REFUSED) {
      this.listener.connection("refused", null);
      return;
    }
    this.wait = Math.min(Math.max(this.wait * 2, FIRST_WAIT), LONGEST_WAIT);
    this.timer = setTimeout(() => this.open(), this.wait);
    this.listener.connection("lost", Date.now() + this.wait);
  }
}
