"""Moves amounts between grids without loss: by overlapping lengths along each axis.

An amount that is spread evenly over a source interval goes to the target intervals in proportion to the overlap,

    W[t, s] = |target_t and source_s| / |source_s|,     sum over t of W[t, s] = 1 where the target covers the source.

On a longitude-latitude grid the two axes separate when the latitude axis is sin(latitude), along which area is even;
heights are a third axis of the same kind.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airshed.grid import Grid

Array = NDArray[np.float64]


def overlap_fractions(source_faces: Array, target_faces: Array) -> Array:
    """Fraction of each source interval that lies in each target interval, shape (targets, sources).

    Both sets of faces rise; parts of the source outside the target are in no row.
    """
    lower = np.maximum(target_faces[:-1, None], source_faces[None, :-1])
    upper = np.minimum(target_faces[1:, None], source_faces[None, 1:])
    return np.asarray(np.maximum(upper - lower, 0.0) / np.diff(source_faces))


@dataclass(frozen=True)
class _Sums:
    """The product with a matrix that is nearly empty: sums over its entries, in one order whatever the machine.

    targets  rows that have entries, of `rows` in all; first: where the entries of each of them begin
    """

    rows: int
    targets: NDArray[np.intp]
    first: NDArray[np.intp]
    sources: NDArray[np.intp]
    weights: Array

    @classmethod
    def of(cls, matrix: Array) -> "_Sums":
        rows, sources = np.nonzero(matrix)
        targets, first = np.unique(rows, return_index=True)
        return cls(len(matrix), targets, first, sources, matrix[rows, sources])

    def __call__(self, values: Array) -> Array:
        """Return the matrix times values (source, ...)."""
        result = np.zeros((self.rows, *values.shape[1:]))
        if self.targets.size:
            parts = values[self.sources] * self.weights.reshape(-1, *[1] * (values.ndim - 1))
            result[self.targets] = np.add.reduceat(parts, self.first)
        return result


class Regridder:
    """Aggregates amounts per cell of one longitude-latitude grid onto another, conserving their sum where they overlap.

    Longitudes that differ by a full turn are the same place.
    """

    def __init__(self, lon_faces: Array, lat_faces: Array, target: Grid) -> None:
        turn = 360.0 * np.round((np.mean(target.lon_faces) - np.mean(lon_faces)) / 360.0)
        turns = (turn, turn - 360.0, turn + 360.0)
        shares = [overlap_fractions(lon_faces + each, target.lon_faces) for each in turns]
        self._by_lon = _Sums.of(shares[0] + shares[1] + shares[2])
        self._by_lat = _Sums.of(overlap_fractions(_sines(lat_faces), _sines(target.lat_faces)))

    def __call__(self, amount: Array) -> Array:
        """Return amounts per target cell, shape (..., target lat, target lon), for amounts per source cell."""
        by_row = self._by_lat(np.moveaxis(amount, -2, 0))
        return np.ascontiguousarray(np.moveaxis(self._by_lon(np.moveaxis(by_row, -1, 0)), (0, 1), (-1, -2)))


def _sines(lat_faces: Array) -> Array:
    sines: Array = np.sin(np.radians(lat_faces))
    return sines
