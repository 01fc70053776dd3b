// Shader programs of WebGL2.

/** Return a program of a vertex and a fragment shader; the GPU may still compile it. */
export function link(gl: WebGL2RenderingContext, ...sources: [string, string]): WebGLProgram {
  const program = gl.createProgram();
  [gl.VERTEX_SHADER, gl.FRAGMENT_SHADER].forEach((kind, k) => {
    const shader = gl.createShader(kind);
    if (!shader) throw new Error("the graphics context is lost");
    gl.shaderSource(shader, sources[k] ?? "");
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  });
  gl.linkProgram(program);
  return program;
}
