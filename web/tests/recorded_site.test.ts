// Data of a site without a server: files by the paths of requests.
import { afterEach, describe, expect, it, vi } from "vitest";
import { fileOf, isSite, Site } from "../src/protocol/recorded_site";
import { encoded, header } from "./samples";

const bytes = (values: number[]): Uint8Array => new Uint8Array(Float32Array.from(values).buffer);

/** Return a file with frames of two rows and three columns at 0 s and at 3600 s. */
function records(level: number): Uint8Array {
  const parts = [0, 3600].map((seconds) => {
    const head = header({ seconds, level, shape: [2, 3], dtype: "<f4", subscription: null } as never);
    return encoded(head, bytes([0, 1, 2, 3, 4, 5].map((each) => each + 10 * level + 100 * (seconds / 3600))));
  });
  return Uint8Array.from(parts.flatMap((each) => [...each]));
}

const INFO = new TextEncoder().encode(JSON.stringify({ variables: [{ name: "O3", shape: [2, 2, 3] }] }));
const FILES: Record<string, Uint8Array> = {
  "data/sessions/main/recording/O3.0.bin": records(0), "data/sessions/main/recording/O3.1.bin": records(1),
  "data/sessions/main/info.json": INFO,
};

function site(): { source: Site; asked: string[] } {
  const asked: string[] = [];
  vi.stubGlobal("fetch", (file: string) => {
    asked.push(file);
    const found = FILES[file];
    return Promise.resolve(found ? new Response(found as BodyInit) : new Response("", { status: 404 }));
  });
  return { source: new Site(), asked };
}

afterEach(() => void vi.unstubAllGlobals());

describe("a site", () => {
  it("is a page with a mark", () => {
    expect(isSite()).toBe(false);
    vi.stubGlobal("document", { querySelector: (text: string) => (text.includes("airshed-site") ? {} : null) });
    expect(isSite()).toBe(true);
  });

  it("has a file for each request", () => {
    expect(fileOf("/sessions/main/info")).toBe("data/sessions/main/info");
    expect(fileOf("/sessions/main/recording/O3?level=3&since=60")).toBe("data/sessions/main/recording/O3.3");
    expect(fileOf("/sessions/main/stations/pairs?variable=O3")).toBe("data/sessions/main/stations/pairs.O3");
    expect(fileOf("/sessions/main/stations/scores?variable=O3&until=3600")).toBe("data/sessions/main/stations/scores.O3");
  });

  it("has all hours, those after a time, and the last one as the present; a file is loaded once", async () => {
    const { source, asked } = site();
    const seconds = async (path: string) => (await source.frames(path)).map((each) => each.header.seconds);
    expect(await seconds("/sessions/main/recording/O3?level=0")).toEqual([0, 3600]);
    expect(await seconds("/sessions/main/recording/O3?level=0&since=0")).toEqual([3600]);
    expect(await seconds("/sessions/main/data/O3?level=0")).toEqual([3600]);
    expect(asked).toEqual(["data/sessions/main/recording/O3.0.bin"]);
  });

  it("has columns of windows from the files of the levels", async () => {
    const { source } = site();
    const [found] = await source.frames("/sessions/main/recording/O3?at=3599&window=1,2,1,3");
    expect(found?.header.shape).toEqual([2, 1, 2]);
    expect([...(found?.values ?? [])]).toEqual([4, 5, 14, 15]);
    expect(found?.header.window).toEqual([1, 2, 1, 3]);
  });

  it("names a missing file, and refuses commands", async () => {
    const { source } = site();
    await expect(source.frames("/sessions/main/recording/NO2?level=0")).rejects.toThrow("no file");
    await expect(source.send()).rejects.toThrow("recorded run");
  });
});
