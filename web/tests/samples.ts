// Small documents of the protocol for the tests.
import type { Frame } from "../src/protocol/frames";
import type { FrameHeader, GridInfo, ModelInfo, SessionState, Variable } from "../src/protocol/types";
import type { Schema } from "../src/state/settings";
import { arrived, past, sessions } from "../src/state/store";
import { read, view } from "../src/state/view";

export function gridInfo(lon: number[], lat: number[], bounds: number[][] | null = null): GridInfo {
  const along = (name: string, values: number[], edges: number[][] | null) => ({ name, values, bounds: edges, unit: "degrees" });
  return {
    kind: "lonlat", rows: lat.length, columns: lon.length, levels: [], coordinates: [along("lon", lon, bounds), along("lat", lat, null)],
  } as unknown as GridInfo;
}

export function variable(name: string, unit: string, molarMass: number | null, more: Partial<Variable> = {}): Variable {
  return {
    name, unit, molar_mass: molarMass, text: `text of ${name}`, dims: [], shape: [], group: "", settable: false, valid: null, value: null, ...more,
  } as unknown as Variable;
}

/** Return the JSON Schema of a case with sections of settings, all of which may change. */
export function schema(sections: Record<string, Record<string, Schema>>): Schema {
  const changeable = (each: Schema): Schema => ({ description: "text", "x-effect": "rebuild", ...each });
  const section = (each: Record<string, Schema>): Schema => ({
    type: "object", properties: Object.fromEntries(Object.entries(each).map(([key, inside]) => [key, changeable(inside)])),
  });
  return { type: "object", properties: Object.fromEntries(Object.entries(sections).map(([key, each]) => [key, section(each)])) };
}

export function header(more: Partial<FrameHeader> = {}): FrameHeader {
  return {
    variable: "O3", level: 0, seconds: 0, time: "2022-08-31T00:00:00Z", shape: [1, 2], dtype: "<f4", compression: null, range: null,
    missing: 255, length: 8, window: null, ...more,
  } as unknown as FrameHeader;
}

export function frame(seconds: number, more: Partial<FrameHeader> = {}, values = Float32Array.of(seconds, 0)): Frame {
  return { header: header({ seconds, ...more }), values };
}

/** Return the bytes of a frame as the server sends them. */
export function encoded(head: FrameHeader, values: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(JSON.stringify({ ...head, length: values.length }));
  const padded = new Uint8Array(Math.ceil(text.length / 8) * 8).fill(32);
  padded.set(text);
  const bytes = new Uint8Array(8 + padded.length + Math.ceil(values.length / 8) * 8);
  const view = new DataView(bytes.buffer);
  bytes.set(new TextEncoder().encode("ASF1"));
  view.setUint32(4, padded.length, true);
  bytes.set(padded, 8);
  bytes.set(values, 8 + padded.length);
  return bytes;
}

/** Return a field of two rows and four columns, with three levels if they are requested. */
export function field(name: string, more: Partial<Variable> = {}, levels = 0): Variable {
  const [dims, shape] = levels ? [["level", "lat", "lon"], [levels, 2, 4]] : [["lat", "lon"], [2, 4]];
  return variable(name, "mol mol-1", null, { dims, shape, ...more } as never);
}

/** Return a model on two rows from 50 to 52° N and four columns from 0 to 4° E. */
export function model(variables: Variable[], more: Partial<GridInfo> = {}): ModelInfo {
  return {
    variables, settings: {}, values: {}, shown: ["O3"], air: null, capabilities: [], grid: { ...gridInfo([0.5, 1.5, 2.5, 3.5], [50.5, 51.5]), ...more },
  } as unknown as ModelInfo;
}

/** Add a frame to the past of a session, as one that comes from the server. */
export function receive(session: string, seconds: number, values: number[], more: Partial<FrameHeader> = {}): void {
  past(session).add(frame(seconds, { time: new Date(1000 * seconds).toISOString(), ...more }, Float32Array.from(values)));
  arrived.value += 1;
}

/** Set the state of the displayed session: a run from `begin` to `end` that has reached `seconds`. */
export function reach(seconds: number, { begin = 0, end = 86400, ...more }: Partial<SessionState> = {}): SessionState {
  const state = {
    session: "main", title: "", case: "sample", status: "paused", step: 0, begin, end, seconds, time: new Date(1000 * seconds).toISOString(), ...more,
  } as unknown as SessionState;
  sessions.value = { main: state };
  return state;
}

/** Set the view to its default with a change. */
export function see(change: Partial<typeof view.value>): void {
  view.value = { ...read("#view=%7B%22version%22%3A1%7D")!, ...change };
}

/** Canvas that records the calls of its functions. */
export class Pen {
  readonly calls: [name: string, ...given: unknown[]][] = [];
  readonly context = new Proxy(this, {
    get: (_, name: string) => {
      if (name === "measureText") return (text: string) => ({ width: 6 * text.length });
      return (...given: unknown[]) => this.calls.push([name, ...given]);
    },
    set: () => true,
  }) as unknown as CanvasRenderingContext2D;

  /** Return the numbers of all calls of a name. */
  of(name: string): number[][] {
    return this.calls.filter((each) => each[0] === name).map((each) => each.slice(1) as number[]);
  }
}
