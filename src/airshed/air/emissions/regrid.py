"""Moves amounts between grids without loss: by overlapping lengths along each axis.

An amount that is spread evenly over a source interval goes to the target intervals in proportion to the overlap,

    W[t, s] = |target_t and source_s| / |source_s|,     sum over t of W[t, s] = 1 where the target covers the source.

On a longitude-latitude grid the two axes separate when the latitude axis is sin(latitude), along which area is even;
heights are a third axis of the same kind.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from airshed.grid import Grid

Array = NDArray[np.float64]


def overlap_fractions(source_faces: Array, target_faces: Array) -> Array:
    """Fraction of each source interval that lies in each target interval, shape (targets, sources).

    Both sets of faces rise; parts of the source outside the target are in no row.
    """
    lower = np.maximum(target_faces[:-1, None], source_faces[None, :-1])
    upper = np.minimum(target_faces[1:, None], source_faces[None, 1:])
    return np.asarray(np.maximum(upper - lower, 0.0) / np.diff(source_faces))


class Regridder:
    """Aggregates amounts per cell of one longitude-latitude grid onto another, conserving their sum where they overlap.

    Longitudes that differ by a full turn are the same place.
    """

    def __init__(self, lon_faces: Array, lat_faces: Array, target: Grid) -> None:
        turn = 360.0 * np.round((np.mean(target.lon_faces) - np.mean(lon_faces)) / 360.0)
        # sparse products run on one thread in a fixed order, so that the result has the same bits everywhere
        self._by_lon = csr_array(overlap_fractions(lon_faces + turn, target.lon_faces)).T.tocsc()
        self._by_lat = csr_array(overlap_fractions(_sines(lat_faces), _sines(target.lat_faces)))

    def __call__(self, amount: Array) -> Array:
        """Return amounts per target cell, shape (..., target lat, target lon), for amounts per source cell."""
        flat = amount.reshape(-1, *amount.shape[-2:])
        moved = np.stack([self._by_lat @ (layer @ self._by_lon) for layer in flat])
        return moved.reshape(*amount.shape[:-2], *moved.shape[-2:])


def _sines(lat_faces: Array) -> Array:
    sines: Array = np.sin(np.radians(lat_faces))
    return sines
