// The field as colours, drawn by the GPU from the values themselves.
import { table } from "../maths/colours";
import type { Grid } from "../maths/grid";
import type { Range } from "../maths/range";
import type { Box } from "./camera";
import { link } from "./program";

export interface Picture {
  grid: Grid;
  values: Float32Array;
  /** The values of the next hour, and their part in the picture: 0 to 1. */
  next: Float32Array | null;
  part: number;
  range: Range;
  colours: string;
  smooth: boolean;
}

const VERTEX = `#version 300 es
uniform vec4 box;   // west, south, east, north of the screen
uniform vec4 map;   // west, south, east, north of the field
out vec2 at;        // columns and rows of the field, from 0 to 1
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 place = mix(map.xy, map.zw, corner);
  at = corner;
  gl_Position = vec4((place - box.xy) / (box.zw - box.xy) * 2.0 - 1.0, 0.0, 1.0);
}`;

// Between two hours a cell has their mean by time, or the value of the nearer hour where one is missing.
// Where one of the four surrounding cells is missing, a place has the value of its own cell, so that coasts stay sharp.
const FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler2D;
uniform sampler2D values, next;
uniform sampler2D colours;
uniform float part;
uniform vec2 range;
uniform bool logarithmic, smoothly;
in vec2 at;
out vec4 colour;
float cell(ivec2 where) {
  ivec2 place = clamp(where, ivec2(0), textureSize(values, 0) - 1);
  float now = texelFetch(values, place, 0).r;
  if (part == 0.0) return now;
  float then = texelFetch(next, place, 0).r;
  return isnan(now) || isnan(then) ? (part < 0.5 ? now : then) : mix(now, then, part);
}
float value() {
  vec2 size = vec2(textureSize(values, 0));
  float own = cell(ivec2(at * size));
  if (!smoothly) return own;
  vec2 corner = at * size - 0.5;
  ivec2 low = ivec2(floor(corner));
  vec2 share = corner - floor(corner);
  float a = cell(low), b = cell(low + ivec2(1, 0)), c = cell(low + ivec2(0, 1)), d = cell(low + ivec2(1, 1));
  float mixed = mix(mix(a, b, share.x), mix(c, d, share.x), share.y);
  return isnan(mixed) ? own : mixed;
}
void main() {
  float v = value();
  if (isnan(v)) discard;
  float t = logarithmic ? log(max(v, 1e-37) / range.x) / log(range.y / range.x) : (v - range.x) / (range.y - range.x);
  colour = vec4(texelFetch(colours, ivec2(clamp(int(floor(t * 256.0)), 0, 255), 0), 0).rgb, 1.0);
}`;

/** The texture unit of the colours; the first two have the values of two hours. */
const COLOURS = 2;

export class FieldLayer {
  private readonly program: WebGLProgram;
  private readonly places = new Map<string, WebGLUniformLocation | null>();
  /** The values in the two textures, and the texture of the earlier hour. */
  private readonly held: (Float32Array | null)[] = [null, null];
  private first = 0;
  private colours = "";
  private ready = false;

  private constructor(private readonly gl: WebGL2RenderingContext) {
    this.program = link(gl, VERTEX, FRAGMENT);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    for (const unit of [0, 1, COLOURS]) this.texture(unit);
  }

  /** Return a layer, or null where the browser has no WebGL2. It is transparent where there is no field. */
  static on(canvas: HTMLCanvasElement): FieldLayer | null {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true });
    return gl && new FieldLayer(gl);
  }

  /** Draw the part of a field within a box, which fills the canvas. */
  draw(picture: Picture, box: Box): void {
    const { gl } = this;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.prepare();
    this.load(picture);
    const { grid, range } = picture;
    gl.uniform4f(this.place("box"), box.west, box.south, box.east, box.north);
    gl.uniform4f(this.place("map"), grid.west, grid.south, grid.east, grid.north);
    gl.uniform2f(this.place("range"), range.low, range.high);
    gl.uniform1i(this.place("logarithmic"), Number(range.log));
    gl.uniform1i(this.place("smoothly"), Number(picture.smooth));
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  }

  /** Use the program from the first field on; until then the GPU compiles it in the background. */
  private prepare(): void {
    const { gl, program } = this;
    if (this.ready) return;
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
      throw new Error(`the shader program of the map does not link: ${gl.getProgramInfoLog(program) ?? ""}`);
    }
    gl.useProgram(program);
    gl.uniform1i(this.place("colours"), COLOURS);
    this.ready = true;
  }

  private load({ values, next, part, grid, colours }: Picture): void {
    const { gl, held } = this;
    if (held[1 - this.first] === values) this.first = 1 - this.first; // the later hour becomes the earlier one
    this.fill(this.first, values, grid);
    if (next) this.fill(1 - this.first, next, grid);
    gl.uniform1i(this.place("values"), this.first);
    gl.uniform1i(this.place("next"), 1 - this.first);
    gl.uniform1f(this.place("part"), next ? part : 0);
    if (colours !== this.colours) {
      gl.activeTexture(gl.TEXTURE0 + COLOURS);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, 256, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, table(colours));
      this.colours = colours;
    }
  }

  private fill(unit: number, values: Float32Array, grid: Grid): void {
    const { gl, held } = this;
    if (held[unit] === values) return;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, grid.columns, grid.rows, 0, gl.RED, gl.FLOAT, values);
    held[unit] = values;
  }

  private texture(unit: number): void {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
    for (const way of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, way, gl.CLAMP_TO_EDGE);
  }

  private place(name: string): WebGLUniformLocation | null {
    if (!this.places.has(name)) this.places.set(name, this.gl.getUniformLocation(this.program, name));
    return this.places.get(name) ?? null;
  }
}
