"""Sums that are the same to the last bit in any order and any grouping, so that ranks and threads change nothing.

Each summand is cut into integers: with 2^e above the greatest magnitude of all,

    x = i1 2^(e-40) + i2 2^(e-80) + rest,   |i1|, |i2| <= 2^40,  |rest| < 2^(e-80)

Integers add up exactly, up to 2^22 summands; the result is good to 80 bits below the greatest summand, where plain
addition keeps fewer than 53. The idea of a common grid for all summands: Demmel & Nguyen 2013, Fast reproducible
floating-point summation, 21st IEEE Symposium on Computer Arithmetic.
"""

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array

Integers = npt.NDArray[np.int64]

BITS: Final = 40

MOST: Final = 2**22
"""Summands whose integers add up without overflow."""


class Sums(Protocol):
    """The functions of this module, or their compiled form (``kernels.backend.ExactSums``)."""

    def magnitudes(self, values: Array) -> Array:
        """Return the greatest magnitudes (..., column) of (..., summand, column)."""
        ...

    def parts(self, values: Array, greatest: Array) -> Integers:
        """Return the sums (..., 2, column) of the integers that the summands are cut into."""
        ...

    def value(self, sums: Integers, greatest: Array) -> Array:
        """Return the sums (..., column) that the integers (..., 2, column) stand for."""
        ...


def magnitudes(values: Array) -> Array:
    """Return the greatest magnitudes (..., column) of (..., summand, column), infinite where one is not finite."""
    greatest = np.abs(values).max(axis=-2, initial=0.0)
    return np.asarray(np.where(np.isnan(greatest), np.inf, greatest))


def parts(values: Array, greatest: Array) -> Integers:
    """Return the sums (..., 2, column) of the integers that the summands (..., summand, column) are cut into.

    greatest  (..., column) the greatest magnitude of all summands, also of those that others hold
    """
    common = greatest[..., None, :]
    scaled = np.where(np.isfinite(common), values, 0.0) * scale(common)
    first = np.trunc(scaled)
    second = np.trunc((scaled - first) * 2.0**BITS)
    return np.stack([each.astype(np.int64).sum(axis=-2) for each in (first, second)], axis=-2)


def value(sums: Integers, greatest: Array) -> Array:
    """Return the sums (..., column) that integers (..., 2, column) stand for; NaN where a summand was not finite."""
    grid = 1.0 / scale(greatest)
    total = sums[..., 0, :] * grid + sums[..., 1, :] * (grid * 2.0**-BITS)
    return np.asarray(np.where(np.isfinite(greatest), total, np.nan))


def scale(greatest: Array) -> Array:
    """Return 2^(40-e), which brings summands below 2^40; one for a column of zeros or of what is not finite."""
    usable = np.where(np.isfinite(greatest), greatest, 0.0)
    _, exponent = np.frexp(usable)
    # further down the second grid would fall below the least number there is; what is so small counts as zero
    return np.asarray(np.where(usable > 0.0, np.ldexp(1.0, BITS - np.maximum(exponent, -850)), 1.0))
