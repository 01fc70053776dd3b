// HTTP requests: documents, and frames that are needed once; other data of the map use the WebSocket.
import type { Access } from "./access";
import { decodeFrames, type Frame } from "./frames";
import type { Problem } from "./types";

/** Error of a request that the server refused, with its message. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** Documents and frames by the path of a request. */
export interface Source {
  get<T>(path: string): Promise<T>;
  send<T>(method: "POST" | "DELETE", path: string, body?: unknown): Promise<T>;
  frames(path: string): Promise<Frame[]>;
  file(path: string): Promise<Blob>;
}

export class Http implements Source {
  constructor(private readonly access: Access) {}

  async get<T>(path: string): Promise<T> {
    return (await (await this.ask(path, {})).json()) as T;
  }

  async send<T>(method: "POST" | "DELETE", path: string, body?: unknown): Promise<T> {
    const answer = await this.ask(path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const text = await answer.text();
    return (text ? JSON.parse(text) : null) as T;
  }

  async frames(path: string): Promise<Frame[]> {
    return decodeFrames(await (await this.ask(path, {})).arrayBuffer());
  }

  async file(path: string): Promise<Blob> {
    return await (await this.ask(path, {})).blob();
  }

  private async ask(path: string, options: RequestInit): Promise<Response> {
    const headers = {
      Authorization: `Bearer ${this.access.token}`,
      "X-Airshed-Client": this.access.client,
      "X-Airshed-Author": encodeURIComponent(this.access.author || "anonymous"),
      ...(options.body ? { "Content-Type": "application/json" } : {}),
    };
    const answer = await fetch(`api${path}`, { ...options, headers, keepalive: options.method === "DELETE" });
    if (!answer.ok) throw new Refused(answer.status, await words(answer));
    return answer;
  }
}

async function words(answer: Response): Promise<string> {
  try {
    return ((await answer.json()) as Problem).message ?? answer.statusText;
  } catch {
    return `the server responded with ${answer.status} ${answer.statusText}`;
  }
}
