"""Linear interpolation and averaging between data points and the model's cells, as weighted sums.

A field between data points is taken as linear in each coordinate. Its value at a point, and its mean over a cell, are
weighted sums of the data, so both are exact for linear fields, and the means conserve what they are means of.
"""

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
