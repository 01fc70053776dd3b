"""Weighted sums of neighbouring values along an axis, bitwise identical for any subset of the targets."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.grid.coordinates import around_meridian


@dataclass(frozen=True)
class Weights:
    """Band matrix: each target is the weighted sum of a few neighbouring nodes.

    target[t] = sum over n of weight[t, n] node[first[t] + n], added term by term. A subset of the targets is
    therefore bitwise identical to the same targets among all. A matrix product, summed in blocks that depend on the
    shape, does not guarantee this.
    """

    first: NDArray[np.intp]
    weight: Array

    @classmethod
    def of(cls, matrix: Array) -> Self:
        """Return the band of a matrix (targets, nodes)."""
        used = matrix != 0.0
        first, from_end = used.argmax(axis=1), used[:, ::-1].argmax(axis=1)
        ends = np.where(used.any(axis=1), matrix.shape[1] - from_end, first + 1)
        width = int((ends - first).max(initial=1))  # also without targets: a grid of one layer has no interior faces
        first = np.minimum(first, matrix.shape[1] - width)
        return cls(first, np.take_along_axis(matrix, first[:, None] + np.arange(width), axis=1))

    @classmethod
    def same(cls, size: int) -> Self:
        """Return the weights with the nodes themselves as targets."""
        return cls(np.arange(size), np.ones((size, 1)))

    @classmethod
    def one_node(cls, targets: int) -> Self:
        """Return the weights that assign the only node's value to every target."""
        return cls(np.zeros(targets, np.intp), np.ones((targets, 1)))

    @property
    def nodes(self) -> slice:
        """Nodes that the targets require."""
        return slice(int(self.first.min()), int(self.first.max()) + self.weight.shape[1])

    def part(self, targets: slice) -> "Weights":
        """Return the weights of a subset of the targets."""
        return Weights(self.first[targets], self.weight[targets])

    def beginning_at(self, node: int) -> "Weights":
        """Return the weights for values that start at a later node."""
        return Weights(self.first - node, self.weight)

    def __call__(self, values: Array, axis: int) -> Array:
        """Return the targets for node values along an axis, counted from the end: -1, -2 or -3."""
        shape = (-1, *[1] * (-1 - axis))
        total = self.weight[:, 0].reshape(shape) * values.take(self.first, axis=axis)
        for n in range(1, self.weight.shape[1]):
            total += self.weight[:, n].reshape(shape) * values.take(self.first + n, axis=axis)
        return np.asarray(total)


@dataclass(frozen=True)
class PointWeights:
    """Bilinear interpolation from a rectangle of nodes to single points, with the nearest values outside.

    south, west        index of the node before each point, (ny, nx)
    to_north, to_east  fractional distance to the next node
    """

    south: NDArray[np.intp]
    west: NDArray[np.intp]
    to_north: Array
    to_east: Array

    @classmethod
    def of(cls, lat_nodes: Array, lon_nodes: Array, lat: Array, lon: Array) -> Self:
        """Return the weights for points, from ascending latitudes and longitudes; 350 E is 10 W."""
        turned = around_meridian(lon, 0.5 * (lon_nodes[0] + lon_nodes[-1]))
        (south, to_north), (west, to_east) = _before(lat_nodes, lat), _before(lon_nodes, turned)
        return cls(south, west, to_north, to_east)

    @classmethod
    def in_plane(cls, y_nodes: Array, x_nodes: Array, y: Array, x: Array) -> Self:
        """Return the weights for points of a plane, from rising coordinates of the nodes."""
        (south, to_north), (west, to_east) = _before(y_nodes, y), _before(x_nodes, x)
        return cls(south, west, to_north, to_east)

    def __call__(self, field: Array) -> Array:
        """Return a field (..., lat, lon) at the points (..., ny, nx)."""
        rows, columns = field.shape[-2:]
        north, east = np.minimum(self.south + 1, rows - 1), np.minimum(self.west + 1, columns - 1)
        low = (1.0 - self.to_east) * field[..., self.south, self.west] + self.to_east * field[..., self.south, east]
        high = (1.0 - self.to_east) * field[..., north, self.west] + self.to_east * field[..., north, east]
        return np.asarray((1.0 - self.to_north) * low + self.to_north * high)

    def transposed(self, adjoint: Array, shape: tuple[int, int]) -> Array:
        """Return the transpose of :meth:`__call__`: of values at the points to those of a field (..., lat, lon)."""
        north, east = np.minimum(self.south + 1, shape[0] - 1), np.minimum(self.west + 1, shape[1] - 1)
        result = np.zeros((*adjoint.shape[: adjoint.ndim - self.south.ndim], *shape))
        for rows, along in ((self.south, 1.0 - self.to_north), (north, self.to_north)):
            for columns, across in ((self.west, 1.0 - self.to_east), (east, self.to_east)):
                place: Any = (..., rows, columns)
                np.add.at(result, place, along * across * adjoint)
        return result


def _before(nodes: Array, places: Array) -> tuple[NDArray[np.intp], Array]:
    """Return the node before each point, and the fractional distance to the next node."""
    if nodes.size == 1:
        return np.zeros(places.shape, np.intp), np.zeros(places.shape)
    number = np.clip(np.searchsorted(nodes, places, side="right") - 1, 0, nodes.size - 2)
    return number, np.clip((places - nodes[number]) / (nodes[number + 1] - nodes[number]), 0.0, 1.0)


def apply(lat: Weights, field: Array, lon: Weights) -> Array:
    """Return the field (..., lat, lon) at the targets of the weights along latitude and along longitude."""
    columns = lon.nodes
    return lon.beginning_at(columns.start)(lat(field[..., columns], -2), -1)
