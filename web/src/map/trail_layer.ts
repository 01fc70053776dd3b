// Trails of particles on the GPU: segments of the last second, each drawn with a casing, so that they show on any colour.
// A segment older than the trail is not drawn, so nothing remains of it.
import type { Place } from "../maths/grid";
import { boxOf, type Camera } from "./camera";
import { MOST, type Particles } from "./particles";
import { link } from "./program";

/** Segments of a trail, and the time of each [s]. */
const SEGMENTS = 10;
const EACH = 0.09;
/** Duration of a whole trail [s]. */
export const TRAIL = (SEGMENTS - 1) * EACH;

/** Half widths of the core and of the whole line with its casing [pixels]. */
const CORE = 0.65;
const WHOLE = 1.9;

const VERTEX = `#version 300 es
uniform vec4 box;      // west, south, east, north of the screen
uniform vec2 size;     // of the screen [pixels]
uniform vec2 fading;   // opacity at the older and at the newer end
layout(location = 0) in vec4 segment;  // two places on the map, the same at each of four corners
out vec2 line;         // distance from the middle [pixels], opacity
void main() {
  vec2 a = (segment.xy - box.xy) / (box.zw - box.xy) * size;
  vec2 b = (segment.zw - box.xy) / (box.zw - box.xy) * size;
  float len = length(b - a);
  vec2 along = len > 0.0 ? (b - a) / len : vec2(0.0);
  float across = ${WHOLE.toFixed(2)} * (float(gl_VertexID & 1) * 2.0 - 1.0);
  bool older = (gl_VertexID & 2) == 0;
  line = vec2(across, older ? fading.x : fading.y);
  vec2 at = (older ? a : b) + vec2(-along.y, along.x) * across;
  gl_Position = vec4(at / size * 2.0 - 1.0, 0.0, 1.0);
}`;

// Edges are smooth by the distance from the middle: multisampling of the whole screen would take far longer.
const FRAGMENT = `#version 300 es
precision mediump float;
uniform vec4 core, casing;
in vec2 line;
out vec4 colour;
void main() {
  float away = abs(line.x);
  vec4 ink = mix(core, casing, smoothstep(${(CORE - 0.4).toFixed(2)}, ${(CORE + 0.4).toFixed(2)}, away));
  float strength = ink.a * line.y * (1.0 - smoothstep(${(WHOLE - 0.8).toFixed(2)}, ${WHOLE.toFixed(2)}, away));
  colour = vec4(ink.rgb * strength, strength);
}`;

export interface TrailInk {
  core: [number, number, number];
  casing: [number, number, number];
  /** Opacity of the core and of the casing at the head of a trail. */
  strength: [number, number];
}

export class TrailLayer {
  private readonly program: WebGLProgram;
  private readonly places = new Map<string, WebGLUniformLocation | null>();
  private readonly buffers: WebGLBuffer[];
  private readonly counts = new Array<number>(SEGMENTS).fill(0);
  private newest = 0;
  private age = 0;
  private data = new Float32Array();

  private constructor(private readonly gl: WebGL2RenderingContext) {
    this.program = link(gl, VERTEX, FRAGMENT);
    this.buffers = this.counts.map(() => gl.createBuffer());
    gl.enableVertexAttribArray(0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, corners(MOST), gl.STATIC_DRAW);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  static on(canvas: HTMLCanvasElement): TrailLayer | null {
    const gl = canvas.getContext("webgl2", { antialias: false, depth: false, alpha: true });
    return gl && new TrailLayer(gl);
  }

  clear(): void {
    this.counts.fill(0);
    this.gl.clearColor(0, 0, 0, 0);
    this.gl.clear(this.gl.COLOR_BUFFER_BIT);
  }

  /** Add the present segments of the trails, and draw all trails. */
  draw(particles: Particles, camera: Camera, seconds: number, ink: TrailInk): void {
    const { gl } = this;
    this.load(particles);
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.useProgram(this.program);
    const box = boxOf(camera);
    gl.uniform4f(this.place("box"), box.west, box.south, box.east, box.north);
    gl.uniform2f(this.place("size"), camera.width, camera.height);
    gl.uniform4f(this.place("core"), ...ink.core, ink.strength[0]);
    gl.uniform4f(this.place("casing"), ...ink.casing, ink.strength[1]);
    for (let old = SEGMENTS - 1; old >= 0; old--) this.drawSegments(old);
    this.age += seconds;
    if (this.age < EACH) return;
    this.age = 0;
    this.newest = (this.newest + 1) % SEGMENTS;
    particles.mark();
  }

  private drawSegments(old: number): void {
    const { gl } = this;
    const slot = (this.newest - old + SEGMENTS) % SEGMENTS;
    const count = this.counts[slot] ?? 0;
    if (!count) return;
    const opacity = (age: number) => Math.max(1 - age / TRAIL, 0);
    const newer = old ? this.age + (old - 1) * EACH : 0;
    gl.uniform2f(this.place("fading"), opacity(this.age + old * EACH), opacity(newer));
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[slot] ?? null);
    gl.vertexAttribPointer(0, 4, gl.FLOAT, false, 0, 0);
    gl.drawElements(gl.TRIANGLES, 6 * count, gl.UNSIGNED_SHORT, 0);
  }

  private place(name: string): WebGLUniformLocation | null {
    if (!this.places.has(name)) this.places.set(name, this.gl.getUniformLocation(this.program, name));
    return this.places.get(name) ?? null;
  }

  /** Write the present segments into the newest buffer. */
  private load({ from, at }: Particles): void {
    const { gl } = this;
    if (this.data.length < 16 * at.length) this.data = new Float32Array(16 * at.length);
    const { data } = this;
    at.forEach((end: Place, k) => {
      const start = from[k] ?? end;
      for (let n = 16 * k; n < 16 * k + 16; n += 4) {
        data[n] = start[0];
        data[n + 1] = start[1];
        data[n + 2] = end[0];
        data[n + 3] = end[1];
      }
    });
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[this.newest] ?? null);
    gl.bufferData(gl.ARRAY_BUFFER, data.subarray(0, 16 * at.length), gl.DYNAMIC_DRAW);
    this.counts[this.newest] = at.length;
  }
}

/** Return the corners of the two triangles of each segment. Instances would need less memory, but software renderers draw them one by one. */
function corners(count: number): Uint16Array {
  return Uint16Array.from({ length: 6 * count }, (_, k) => 4 * Math.floor(k / 6) + [0, 1, 2, 2, 1, 3][k % 6]!);
}
