"""Correlations along one axis, and their symmetric square roots.

source  Gaspari & Cohn 1999, Q. J. R. Meteorol. Soc. 125, 723-757; Balgovind et al. 1983, Mon. Wea. Rev. 111, 701-722
"""

from collections.abc import Callable, Mapping
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import CaseError

Array = npt.NDArray[np.float64]
Shape = Literal["exponential", "gaussian", "balgovind"]

SHAPES: Final[Mapping[Shape, Callable[[Array], Array]]] = {
    "exponential": lambda r: np.exp(-r),
    "gaussian": lambda r: np.exp(-0.5 * r**2),
    "balgovind": lambda r: (1.0 + r) * np.exp(-r),
}
"""Correlation as a function of distance / length; each is positive definite in up to three dimensions."""

_MOST_PLACES: Final = 4096
"""Places along an axis: the root of their matrix is dense."""


def correlation(places: Array, length: float, shape: Shape = "exponential", *, period: float = np.inf) -> Array:
    """Return the correlation matrix C = shape(distance / length) of places along an axis, (n, n).

    places  (n,) in the unit of ``length``; a length of 0 means that nothing is correlated
    period  after which the axis comes back to its beginning, such as 24 h; distances are then the chords of a circle,
            which keep C positive definite
    raises  CaseError for a length below 0, or more places than a dense matrix should have
    """
    if not 0.0 <= length < np.inf:
        raise CaseError(f"a correlation length is {length:g}; give 0 or more")
    if places.size > _MOST_PLACES:
        raise CaseError(f"{places.size} places are correlated along one axis; {_MOST_PLACES} is the most")
    if length == 0.0:
        return np.eye(places.size)
    along = np.abs(places[:, None] - places[None, :])
    distance = along if np.isinf(period) else period / np.pi * np.abs(np.sin(np.pi * along / period))
    return SHAPES[shape](distance / length)


def symmetric_root(matrix: Array) -> Array:
    """Return the symmetric S with S S = C; eigenvalues below 0, which round-off makes, count as 0."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def lon_root(lon: Array, lat: Array, length: float, shape: Shape = "exponential") -> Array:
    """Return the root of correlations along longitude [degrees east], by chords of the middle parallel.

    length  [m]. Separable correlations have one matrix for all rows: away from the middle latitude they reach
            cos(lat)/cos(middle) as far.
    """
    radius = EARTH_RADIUS * float(np.cos(np.radians(0.5 * (lat[0] + lat[-1]))))
    return symmetric_root(correlation(np.radians(lon) * radius, length, shape, period=2.0 * np.pi * radius))


def lat_root(lat: Array, length: float, shape: Shape = "exponential") -> Array:
    """Return the root of correlations along latitude [degrees north]; length [m]."""
    places, around = np.radians(lat) * EARTH_RADIUS, 2.0 * np.pi * EARTH_RADIUS
    return symmetric_root(correlation(places, length, shape, period=around))


def axis_root(places: Array, length: float, shape: Shape = "exponential", *, period: float = np.inf) -> Array:
    """Return the root of correlations along heights [m] or times [s]; see :func:`correlation`."""
    return symmetric_root(correlation(places, length, shape, period=period))
