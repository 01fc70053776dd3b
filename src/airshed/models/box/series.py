"""Chebyshev series of values over time, with a test for jumps and bends.

A value f on [a, b] is sampled at the N roots of the N-th Chebyshev polynomial, which gives the interpolating polynomial

    f(t) = sum of c_n T_n(x),    x = (2 t - a - b)/(b - a),    c_n = (2 - [n = 0])/N sum of f(t_k) T_n(x_k)

and at additional points, where both must agree. The ends are not sampled, so that jumps there have no effect.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array

TERMS: Final = 17
"""Number of terms: sufficient for an hour of a smooth day, or for bisection towards a pole."""

TOLERANCE: Final = 2e-12
"""Maximum error of a series relative to the largest value in its interval."""

_NEGLIGIBLE: Final = 1e-13
_EDGE: Final = 1e-9


def _polynomials(x: Array) -> Array:
    """Return T_n(x), (term, point)."""
    return np.asarray(np.cos(np.arange(TERMS)[:, None] * np.arccos(np.clip(x, -1.0, 1.0))))


_ROOTS: Final = np.cos(np.pi * (np.arange(TERMS) + 0.5) / TERMS)
_OTHERS: Final = np.concatenate([[1.0 - _EDGE], np.cos(np.pi * np.arange(1, TERMS) / TERMS), [_EDGE - 1.0]])
_TO_SERIES: Final = (2.0 - (np.arange(TERMS) == 0)[:, None]) / TERMS * _polynomials(_ROOTS)
_AT_OTHERS: Final = _polynomials(_OTHERS)
POINTS: Final = np.concatenate([_ROOTS, _OTHERS])
"""Sample points x in [-1, 1]."""


def times_in(starts: Array, ends: Array) -> Array:
    """Return the sample times, (interval, point)."""
    half = 0.5 * (ends - starts)[:, None]
    return np.asarray(starts[:, None] + half * (1.0 + POINTS))


@dataclass(frozen=True)
class Series:
    """Series over intervals, with a single cell if it is the same for all.

    coefficients  (cell, interval, term)
    miss          largest difference from the samples (cell, interval)
    size          largest absolute value (cell, interval)
    """

    coefficients: Array
    miss: Array
    size: Array

    def good(self, floor: Array | float = 0.0, tolerance: Array | float = TOLERANCE) -> npt.NDArray[np.bool_]:
        """Return True where the error is within a tolerance relative to the size, or to `floor` if it is larger."""
        return np.asarray(self.miss <= tolerance * np.maximum(self.size, floor))

    @property
    def constant(self) -> bool:
        """True if all values are constant in time."""
        return bool(self.coefficients.shape[2] == 1)

    def of(self, cells: npt.NDArray[np.bool_] | slice, interval: int) -> Array:
        """Return the coefficients (cell, term) of some cells in one interval."""
        number = interval if self.coefficients.shape[1] > 1 else 0
        chosen = self.coefficients[:, number]
        return chosen if len(chosen) == 1 else chosen[cells]

    def derivative_of_logarithm(self, lengths: Array) -> "Series":
        """Return d ln f/dt of a positive value f [1/s] over intervals of these lengths [s]."""
        if self.constant:
            return Series(np.zeros((1, 1, 1)), np.zeros((1, 1)), np.zeros((1, 1)))
        logarithm = _apply(_TO_SERIES, np.log(_apply(_polynomials(_ROOTS).T, self.coefficients)))
        slope = np.zeros_like(logarithm)
        for n in range(TERMS - 2, -1, -1):  # c'(n) = c'(n + 2) + 2 (n + 1) c(n + 1)
            slope[..., n] = 2.0 * (n + 1) * logarithm[..., n + 1] + (slope[..., n + 2] if n + 2 < TERMS else 0.0)
        slope[..., 0] *= 0.5
        return replace(self, coefficients=_trimmed(slope * (2.0 / lengths)[:, None]))


def fit(samples: Array) -> Series:
    """Return the series through samples (cell, interval, point) at :data:`POINTS`, a single point for a constant.

    Negligible terms at the end are set to zero, separately in each cell.
    """
    if samples.shape[2] == 1 or np.all(samples == samples[:, :, :1]):
        values = samples[:, :, :1]
        if np.all(values == values[:, :1]):
            return Series(values[:, :1], np.zeros((1, 1)), np.abs(values[:, :1, 0]))
    values, others = samples[:, :, :TERMS], samples[:, :, TERMS:]
    coefficients = _apply(_TO_SERIES, values)
    miss = np.abs(_apply(_AT_OTHERS.T, coefficients) - others).max(axis=2)
    return Series(_trimmed(coefficients), miss, np.abs(samples).max(axis=2))


def _apply(matrix: Array, values: Array) -> Array:
    """Return matrix times values along the last axis, term by term: results of BLAS depend on neighbouring cells."""
    total = values[..., :1] * matrix[:, 0]
    for number in range(1, values.shape[-1]):
        total += values[..., number : number + 1] * matrix[:, number]
    return np.asarray(total)


def add_terms(one: Array, other: Array) -> Array:
    """Return the sum of two series (..., term) with possibly different numbers of terms."""
    terms = max(one.shape[-1], other.shape[-1])
    wide = [np.pad(each, [*[(0, 0)] * (each.ndim - 1), (0, terms - each.shape[-1])]) for each in (one, other)]
    return np.asarray(wide[0] + wide[1])


def _trimmed(coefficients: Array) -> Array:
    """Return coefficients with zeros for the terms at the end whose sum is below round-off."""
    tail = np.cumsum(np.abs(coefficients[..., ::-1]), axis=-1)[..., ::-1]
    return np.where(tail > _NEGLIGIBLE * tail[..., :1], coefficients, 0.0)


def series_degree(tables: list[Array]) -> int:
    """Return the highest nonzero term in coefficients (cell, term)."""
    used = [np.flatnonzero(np.any(table != 0.0, axis=0)) for table in tables]
    return max((int(each[-1]) for each in used if each.size), default=0)
