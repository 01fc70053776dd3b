// Trails of particles on the GPU: segments of the last second, each drawn with a casing, so that they show on any colour.
// A segment older than the trail is not drawn, so nothing remains of it.
import type { Place } from "../maths/grid";
import { boxOf, type Camera } from "./camera";
import type { Particles } from "./particles";
import { link } from "./program";

/** Segments of a trail, and the time of each [s]. */
const SEGMENTS = 22;
const EACH = 0.036;
/** Duration of a whole trail [s]. */
export const TRAIL = SEGMENTS * EACH;

const VERTEX = `#version 300 es
uniform vec4 box;      // west, south, east, north of the screen
uniform vec2 size;     // of the screen [pixels]
uniform float width;   // of the line [pixels]
layout(location = 0) in vec4 segment;  // two places on the map
void main() {
  vec2 a = (segment.xy - box.xy) / (box.zw - box.xy) * size;
  vec2 b = (segment.zw - box.xy) / (box.zw - box.xy) * size;
  vec2 along = b - a;
  float len = length(along);
  vec2 unit = len > 0.0 ? along / len : vec2(1.0, 0.0);
  vec2 side = vec2(-unit.y, unit.x) * (width * 0.5) * (float(gl_VertexID & 1) * 2.0 - 1.0);
  vec2 at = (gl_VertexID >> 1 == 0 ? a : b) + side;
  gl_Position = vec4(at / size * 2.0 - 1.0, 0.0, len > 0.0 ? 1.0 : 0.0);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
uniform vec4 ink;
out vec4 colour;
void main() { colour = vec4(ink.rgb * ink.a, ink.a); }`;

export interface TrailInk {
  core: [number, number, number];
  casing: [number, number, number];
}

export class TrailLayer {
  private readonly program: WebGLProgram;
  private readonly buffers: WebGLBuffer[];
  private readonly counts = new Array<number>(SEGMENTS).fill(0);
  private newest = 0;
  private age = 0;
  private data = new Float32Array();

  private constructor(private readonly gl: WebGL2RenderingContext) {
    this.program = link(gl, VERTEX, FRAGMENT);
    this.buffers = this.counts.map(() => gl.createBuffer());
    gl.enableVertexAttribArray(0);
    gl.vertexAttribDivisor(0, 1);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  static on(canvas: HTMLCanvasElement): TrailLayer | null {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: true });
    return gl && new TrailLayer(gl);
  }

  clear(): void {
    this.counts.fill(0);
    this.gl.clearColor(0, 0, 0, 0);
    this.gl.clear(this.gl.COLOR_BUFFER_BIT);
  }

  /** Add the present segments of the trails, and draw all trails. */
  draw(particles: Particles, camera: Camera, seconds: number, ink: TrailInk, density: number): void {
    const { gl } = this;
    this.load(particles);
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.useProgram(this.program);
    const box = boxOf(camera);
    const place = (name: string) => gl.getUniformLocation(this.program, name);
    gl.uniform4f(place("box"), box.west, box.south, box.east, box.north);
    gl.uniform2f(place("size"), camera.width, camera.height);
    for (const [width, colour, strength] of [[3.2, ink.casing, 0.28], [1.25, ink.core, 0.85]] as const) {
      gl.uniform1f(place("width"), Math.max(width, 1.2 / density));
      for (let old = SEGMENTS - 1; old >= 0; old--) this.drawSegments(old, place("ink"), colour, strength);
    }
    this.age += seconds;
    if (this.age < EACH) return;
    this.age = 0;
    this.newest = (this.newest + 1) % SEGMENTS;
    particles.mark();
  }

  private drawSegments(old: number, ink: WebGLUniformLocation | null, colour: readonly number[], strength: number): void {
    const { gl } = this;
    const slot = (this.newest - old + SEGMENTS) % SEGMENTS;
    const count = this.counts[slot] ?? 0;
    if (!count) return;
    const [red = 0, green = 0, blue = 0] = colour;
    gl.uniform4f(ink, red, green, blue, strength * (1 - old / SEGMENTS));
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[slot] ?? null);
    gl.vertexAttribPointer(0, 4, gl.FLOAT, false, 0, 0);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
  }

  /** Write the present segments into the newest buffer. */
  private load({ from, at }: Particles): void {
    const { gl } = this;
    if (this.data.length < 4 * at.length) this.data = new Float32Array(4 * at.length);
    at.forEach((end: Place, k) => {
      const start = from[k] ?? end;
      this.data.set([start[0], start[1], end[0], end[1]], 4 * k);
    });
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[this.newest] ?? null);
    gl.bufferData(gl.ARRAY_BUFFER, this.data.subarray(0, 4 * at.length), gl.DYNAMIC_DRAW);
    this.counts[this.newest] = at.length;
  }
}
