"""Work on arrays in NumPy, of which compiled code has the bits."""

import numpy as np

Array = np.ndarray


def formula(a: Array, b: Array, c: Array) -> Array:
    """Return something of every operation that there is, numbers on either side."""
    root = np.sqrt(np.maximum(b, 0.25)) / (2.0 - np.minimum(-a, 0.5))
    return (a * b + c) * root - np.minimum(a, c) * 0.1 + (-b)


def lines(heights: Array, values: Array, faces: Array) -> tuple[Array, Array, Array]:
    """Return the node below each face (face, column), and the line's value and slope there."""
    node = np.array([(heights[1:-1] <= face).sum(axis=0) for face in faces])
    low, width = np.take_along_axis(heights, node, 0), np.diff(heights, axis=0)
    value = np.take_along_axis(values, node, 0)
    rise = np.take_along_axis(values, node + 1, 0) - value
    width = np.take_along_axis(width, node, 0)
    return faces[:, None] - low, value, np.divide(rise, width, out=np.zeros_like(rise), where=width > 0.0)


def integrals(heights: Array, values: Array, faces: Array) -> Array:
    upto = np.zeros_like(heights)
    for k in range(1, len(heights)):
        upto[k] = upto[k - 1] + 0.5 * (heights[k] - heights[k - 1]) * (values[k] + values[k - 1])
    step, value, slope = lines(heights, values, faces)
    node = np.array([(heights[1:-1] <= face).sum(axis=0) for face in faces])
    return np.take_along_axis(upto, node, 0) + step * (value + 0.5 * step * slope)


def at_faces(heights: Array, values: Array, faces: Array) -> Array:
    step, value, slope = lines(heights, values, faces)
    return value + step * slope


def some_columns(nodes: int, columns: int, seed: int) -> tuple[Array, Array, Array]:
    """Return heights, some of them equal, two fields, and faces."""
    random = np.random.default_rng(seed)
    rises = random.random((nodes, columns)) * (random.random((nodes, columns)) > 0.2)
    heights = np.cumsum(rises, axis=0) - rises[0]
    faces = np.sort(np.append(random.random(6) * heights[-1].min(), 0.0))
    return heights, random.normal(size=(2, nodes, columns)), faces
