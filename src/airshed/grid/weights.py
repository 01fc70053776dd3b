"""Weighted sums of neighbouring values along an axis, the same to the bit for a part of the targets."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Weights:
    """A matrix with a narrow band: each target is the weighted sum of a few neighbouring nodes.

    target[t] = sum over n of weight[t, n] node[first[t] + n], term after term: a part of the targets gets the same bits
    as all of them, which a product of matrices, summed in blocks that depend on the shape, does not promise.
    """

    first: NDArray[np.intp]
    weight: Array

    @classmethod
    def of(cls, matrix: Array) -> Self:
        """Return the band of a matrix (targets, nodes)."""
        used = matrix != 0.0
        first, from_end = used.argmax(axis=1), used[:, ::-1].argmax(axis=1)
        ends = np.where(used.any(axis=1), matrix.shape[1] - from_end, first + 1)
        width = int((ends - first).max(initial=1))  # of no targets too: a grid of one layer has no faces inside
        first = np.minimum(first, matrix.shape[1] - width)
        return cls(first, np.take_along_axis(matrix, first[:, None] + np.arange(width), axis=1))

    @classmethod
    def same(cls, size: int) -> Self:
        """Return the weights whose targets are the nodes themselves."""
        return cls(np.arange(size), np.ones((size, 1)))

    @classmethod
    def one_node(cls, targets: int) -> Self:
        """Return the weights that give every target the only node's value."""
        return cls(np.zeros(targets, np.intp), np.ones((targets, 1)))

    @property
    def nodes(self) -> slice:
        """The nodes that the targets need."""
        return slice(int(self.first.min()), int(self.first.max()) + self.weight.shape[1])

    def part(self, targets: slice) -> "Weights":
        """Return the weights of some of the targets."""
        return Weights(self.first[targets], self.weight[targets])

    def beginning_at(self, node: int) -> "Weights":
        """Return the weights for values of which the first is that of a later node."""
        return Weights(self.first - node, self.weight)

    def __call__(self, values: Array, axis: int) -> Array:
        """Return the targets for node values along an axis, counted from the end: -1, -2 or -3."""
        shape = (-1, *[1] * (-1 - axis))
        total = self.weight[:, 0].reshape(shape) * values.take(self.first, axis=axis)
        for n in range(1, self.weight.shape[1]):
            total += self.weight[:, n].reshape(shape) * values.take(self.first + n, axis=axis)
        return np.asarray(total)


def apply(lat: Weights, field: Array, lon: Weights) -> Array:
    """Return the field (..., lat, lon) at the targets of the weights along latitude and along longitude."""
    columns = lon.nodes
    return lon.beginning_at(columns.start)(lat(field[..., columns], -2), -1)
