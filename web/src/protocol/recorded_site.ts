// Data of a site without a server: the files that `airshed export` writes, by the paths of requests.
import { decodeFrames, type Frame } from "./frames";
import { Refused, type Source } from "./http";
import type { ModelInfo } from "./types";

/** Whether the page belongs to such a site. */
export const isSite = (): boolean => typeof document !== "undefined" && document.querySelector('meta[name="airshed-site"]') !== null;

/** Return the file with the response to a request. */
export function fileOf(path: string): string {
  const [name = "", query = ""] = path.split("?");
  const given = new URLSearchParams(query);
  const part = given.get("level") ?? given.get("variable");
  return `data${name}${part === null ? "" : `.${part}`}`;
}

export class Site implements Source {
  private readonly known = new Map<string, Promise<ArrayBuffer>>();

  async get<T>(path: string): Promise<T> {
    return JSON.parse(new TextDecoder().decode(await this.load(`${fileOf(path)}.json`))) as T;
  }

  async frames(path: string): Promise<Frame[]> {
    const given = new URLSearchParams(path.split("?")[1]);
    const [at, window] = [given.get("at"), given.get("window")];
    const since = Number(given.get("since") ?? -Infinity);
    if (at !== null && window) return await this.column(path.split("?")[0] ?? "", Number(at), window.split(",").map(Number));
    const present = path.includes("/data/");
    const found = decodeFrames(await this.load(`${fileOf(path.replace("/data/", "/recording/"))}.bin`));
    if (present) return found.slice(-1);
    return found.filter((each) => each.header.seconds > since);
  }

  send<T>(): Promise<T> {
    return Promise.reject(new Refused(405, "This is a recorded run. Install Airshed to run and change its model."));
  }

  file(): Promise<Blob> {
    return this.send();
  }

  /** Return the levels of a window at a time as one frame. */
  private async column(name: string, at: number, [first = 0, last = 0, left = 0, right = 0]: number[]): Promise<Frame[]> {
    const levels: Frame[] = [];
    const count = await this.levelsOf(name);
    for (let level = 0; level < Math.max(count, 1); level++) {
      const all = decodeFrames(await this.load(`data${name}${count ? `.${level}` : ""}.bin`));
      const frame = all.findLast((each) => each.header.seconds <= at);
      if (frame) levels.push(frame);
    }
    const [bottom] = levels;
    if (!bottom) return [];
    const [rows, columns, width] = [last - first, right - left, bottom.header.shape.at(-1) ?? 0];
    const values = new Float32Array(levels.length * rows * columns);
    levels.forEach((each, up) => {
      for (let row = 0; row < rows; row++) {
        const from = (first + row) * width + left;
        values.set(each.values.subarray(from, from + columns), (up * rows + row) * columns);
      }
    });
    const header = { ...bottom.header, level: null, window: [first, last, left, right], shape: count ? [count, rows, columns] : [rows, columns] };
    return [{ header: header as Frame["header"], values }];
  }

  /** Return the number of levels of the variable that a path of records names. */
  private async levelsOf(path: string): Promise<number> {
    const [session = "", variable = ""] = path.split("/recording/");
    const info = await this.get<ModelInfo>(`${session}/info`);
    const shape = info.variables.find((each) => each.name === variable)?.shape ?? [];
    return shape.length > 2 ? (shape[0] ?? 0) : 0;
  }

  private load(file: string): Promise<ArrayBuffer> {
    const found = this.known.get(file) ?? loaded(file);
    this.known.set(file, found);
    return found;
  }
}

async function loaded(file: string): Promise<ArrayBuffer> {
  const answer = await fetch(file);
  if (!answer.ok) throw new Refused(answer.status, `The site has no file ${file}.`);
  return await answer.arrayBuffer();
}
