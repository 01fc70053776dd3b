"""Linear interpolation and averaging between data points and the model's cells, as weighted sums and column sums.

A field between data points is taken as linear in each coordinate. Its value at a point, and its mean over a cell, are
weighted sums of the data, so both are exact for linear fields, and the means conserve what they are means of.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def interpolation_matrix(nodes: Array, points: Array) -> Array:
    """Return W (points, nodes): ``W @ values`` is the linear interpolant at the points, extrapolated beyond the ends.

    A single node gives its value everywhere.
    """
    weights = np.zeros((points.size, nodes.size))
    if nodes.size == 1:
        weights[:, 0] = 1.0
        return weights
    left = np.clip(np.searchsorted(nodes, points, side="right") - 1, 0, nodes.size - 2)
    fraction = (points - nodes[left]) / (nodes[left + 1] - nodes[left])
    rows = np.arange(points.size)
    weights[rows, left] = 1.0 - fraction
    weights[rows, left + 1] = fraction
    return weights


def clamped_matrix(nodes: Array, points: Array) -> Array:
    """Return the interpolation matrix that holds the end values beyond the ends."""
    return interpolation_matrix(nodes, np.clip(points, nodes[0], nodes[-1]))


def averaging_matrix(nodes: Array, edges: Array) -> Array:
    """Return W (edges - 1, nodes): ``W @ values`` is the mean of the linear interpolant between neighbouring edges."""
    if nodes.size == 1:
        return np.ones((edges.size - 1, 1))
    widths = np.diff(nodes)
    upto_node = np.zeros((nodes.size, nodes.size))
    for k, width in enumerate(widths):
        upto_node[k + 1] = upto_node[k]
        upto_node[k + 1, k : k + 2] += 0.5 * width
    left = np.clip(np.searchsorted(nodes, edges, side="right") - 1, 0, nodes.size - 2)
    step = edges - nodes[left]
    fraction = step / widths[left]
    upto_edge = upto_node[left]
    rows = np.arange(edges.size)
    upto_edge[rows, left] += step * (1.0 - 0.5 * fraction)
    upto_edge[rows, left + 1] += step * 0.5 * fraction
    return np.asarray(np.diff(upto_edge, axis=0) / np.diff(edges)[:, None])


@dataclass(frozen=True)
class ColumnIntegrals:
    """Integrals over height of fields that are linear between the nodes of each column.

    heights  [m]  (node, ...)  rising along the first axis, the first at the ground; equal heights are allowed
    faces    [m]  (face,)      at or below each column's last node
    below    (face, ...)  place of the node below each face, in the flat array of nodes
    step     (face, ...)  [m]  from there to the face;  width  [m]  from there to the next node
    """

    heights: Array
    faces: Array
    below: NDArray[np.intp]
    step: Array
    width: Array

    @classmethod
    def of(cls, heights: Array, faces: Array) -> "ColumnIntegrals":
        """Find for each face the node below it."""
        targets = faces.reshape((faces.size,) + (1,) * (heights.ndim - 1))
        node = np.zeros((faces.size, *heights.shape[1:]), np.uint16)
        for height in heights[1:-1]:
            node += height <= targets
        columns = int(np.prod(heights.shape[1:]))
        below = node.astype(np.intp) * columns + np.arange(columns).reshape(heights.shape[1:])
        low = heights.take(below)
        return cls(heights, faces, below, targets - low, heights.take(below + columns) - low)

    def integral(self, values: Array) -> Array:
        """Return the integral of node values (node, ...) from the ground to each face, (face, ...)."""
        parts = np.zeros_like(self.heights)
        for k in range(1, len(parts)):
            parts[k] = parts[k - 1] + 0.5 * (self.heights[k] - self.heights[k - 1]) * (values[k] + values[k - 1])
        value, slope = self._lines(values)
        return np.asarray(parts.take(self.below) + self.step * (value + 0.5 * self.step * slope))

    def layer_means(self, values: Array) -> Array:
        """Return the mean of node values over each layer between neighbouring faces, (face - 1, ...)."""
        thickness = np.diff(self.faces).reshape((-1,) + (1,) * (self.heights.ndim - 1))
        return np.asarray(np.diff(self.integral(values), axis=0) / thickness)

    def at_faces(self, values: Array) -> Array:
        """Return the node values interpolated linearly to the faces, (face, ...)."""
        value, slope = self._lines(values)
        return np.asarray(value + self.step * slope)

    def _lines(self, values: Array) -> tuple[Array, Array]:
        """Return the value at the node below each face, and the slope from there to the next node."""
        value = values.take(self.below)
        rise = values.take(self.below + values[0].size) - value
        return value, np.divide(rise, self.width, out=np.zeros_like(rise), where=self.width > 0.0)
