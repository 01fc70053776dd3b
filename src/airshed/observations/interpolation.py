"""Weights of interpolation in space and of means in time."""

import numpy as np
import numpy.typing as npt

from airshed.grid import Grid

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.intp]


def bilinear(grid: Grid, lon: Array, lat: Array) -> tuple[Numbers, Array]:
    """Return the four columns around each location and their weights, (p, 4) both; a column is row * nlon + number.

    Between cell centres fields are bilinear in longitude and latitude. Within half a cell of the domain edge the
    nearest centres are used, so that weights are never negative and always sum to 1.
    """
    west, east = _between(grid.lon, lon)
    south, north = _between(grid.lat, lat)
    columns = np.stack([j * grid.shape[2] + i for j in (south[0], north[0]) for i in (west[0], east[0])], axis=1)
    weights = np.stack([a * b for a in (south[1], north[1]) for b in (west[1], east[1])], axis=1)
    return columns, weights


def containing(grid: Grid, lon: Array, lat: Array) -> Numbers:
    """Return the column (row * nlon + number) of the cell that contains each location (p,), or of the nearest cell."""
    i, j = (
        np.clip(np.searchsorted(faces, places, side="right") - 1, 0, faces.size - 2)
        for faces, places in ((grid.lon_faces, lon), (grid.lat_faces, lat))
    )
    return np.asarray(j * grid.shape[2] + i, np.intp)


def _between(centres: Array, places: Array) -> tuple[tuple[Numbers, Array], tuple[Numbers, Array]]:
    """Return the centres before and after each location, each with its weight."""
    last = centres.size - 1
    width = (centres[-1] - centres[0]) / last if last else 1.0
    along = np.clip((places - centres[0]) / width, 0.0, last)
    before = np.minimum(along.astype(np.intp), max(last - 1, 0))
    share = along - before
    return (before, 1.0 - share), (np.minimum(before + 1, last), share)


def mean_weights(times: Array, begin: Array, end: Array) -> Array:
    """Return weights (p, n) on fields at rising times (n,) that give their mean from ``begin`` to ``end`` (p,).

    Fields are linear between two times, and the integral is exact; before the first and after the last time they are
    constant. An instant, begin = end, is interpolated.
    """
    span = end - begin
    integrals = _hat_integrals(times, end) - _hat_integrals(times, begin)
    hats = np.stack([np.interp(begin, times, one) for one in np.eye(times.size)], axis=1)
    return np.where(span[:, None] > 0.0, integrals / np.where(span > 0.0, span, 1.0)[:, None], hats)


def _hat_integrals(times: Array, until: Array) -> Array:
    """Return the integrals of the piecewise linear basis of ``times`` from the first one, (p, n)."""
    steps = np.diff(times)
    share = np.clip((until[:, None] - times[:-1]) / steps, 0.0, 1.0)
    integrals = np.zeros((until.size, times.size))
    integrals[:, :-1] += steps * (share - 0.5 * share**2)
    integrals[:, 1:] += steps * 0.5 * share**2
    integrals[:, 0] += np.minimum(until - times[0], 0.0)
    integrals[:, -1] += np.maximum(until - times[-1], 0.0)
    return integrals


def overlap_weights(bounds: Array, begin: Array, end: Array) -> Array:
    """Return weights (p, n) on means over intervals (n, 2) that give the mean from ``begin`` to ``end`` (p,).

    A weight is the share of the interval from ``begin`` to ``end`` that a mean covers. Weights sum to 1 where the means
    cover the whole interval.
    """
    upper = np.minimum(bounds[None, :, 1], end[:, None])
    lower = np.maximum(bounds[None, :, 0], begin[:, None])
    span = (end - begin)[:, None]
    return np.asarray(np.maximum(upper - lower, 0.0) / np.where(span > 0.0, span, 1.0))


def layer_weights(faces: Array, edges: Array, weights: Array) -> Array:
    """Return the weight of the partial column of each model layer in the sum of a_l x_l, (layers,).

    faces  (layers + 1,) of the model [m];  edges  (n + 1,) of the kernel [m];  weights  (n,) a_l

    The air of a model layer is divided among the kernel layers by the overlap in height; above the model top the column
    is zero.
    """
    upper = np.minimum(faces[1:, None], edges[None, 1:])
    lower = np.maximum(faces[:-1, None], edges[None, :-1])
    return np.asarray(np.maximum(upper - lower, 0.0) @ weights / np.diff(faces))
