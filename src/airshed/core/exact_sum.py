"""Sums that are bitwise reproducible in any order and grouping, so that they do not depend on ranks or threads.

Each summand is split into integers. With 2^e above the largest magnitude of all summands,

    x = i1 2^(e-40) + i2 2^(e-80) + rest,   |i1|, |i2| <= 2^40,  |rest| < 2^(e-80)

Integers add exactly, up to 2^22 summands. The result is accurate to 80 bits below the largest summand; plain addition
retains fewer than 53. The common grid for all summands is due to Demmel & Nguyen 2013, Fast reproducible floating-point
summation, 21st IEEE Symposium on Computer Arithmetic.
"""

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array

Integers = npt.NDArray[np.int64]

BITS: Final = 40

MOST: Final = 2**22
"""Largest number of summands whose integers add without overflow."""


class Sums(Protocol):
    """Interface of the functions of this module and of their compiled form (``kernels.backend.ExactSums``)."""

    def magnitudes(self, values: Array) -> Array:
        """Return the largest magnitudes (..., column) of (..., summand, column)."""
        ...

    def parts(self, values: Array, greatest: Array) -> Integers:
        """Return the integer parts of the summands, summed (..., 2, column)."""
        ...

    def value(self, sums: Integers, greatest: Array) -> Array:
        """Return the sums (..., column) of the integer parts (..., 2, column)."""
        ...


def magnitudes(values: Array) -> Array:
    """Return the largest magnitudes (..., column) of (..., summand, column); infinite if any summand is not finite."""
    greatest = np.abs(values).max(axis=-2, initial=0.0)
    return np.asarray(np.where(np.isnan(greatest), np.inf, greatest))


def parts(values: Array, greatest: Array) -> Integers:
    """Return the sums (..., 2, column) of the integer parts of the summands (..., summand, column).

    greatest  (..., column) largest magnitude of all summands, including those of other ranks
    """
    common = greatest[..., None, :]
    scaled = np.where(np.isfinite(common), values, 0.0) * scale(common)
    first = np.trunc(scaled)
    second = np.trunc((scaled - first) * 2.0**BITS)
    return np.stack([each.astype(np.int64).sum(axis=-2) for each in (first, second)], axis=-2)


def value(sums: Integers, greatest: Array) -> Array:
    """Return the sums (..., column) of integer parts (..., 2, column); NaN if any summand was not finite."""
    grid = 1.0 / scale(greatest)
    total = sums[..., 0, :] * grid + sums[..., 1, :] * (grid * 2.0**-BITS)
    return np.asarray(np.where(np.isfinite(greatest), total, np.nan))


def scale(greatest: Array) -> Array:
    """Return 2^(40-e), which scales summands below 2^40; 1 for a column that is zero or not finite."""
    usable = np.where(np.isfinite(greatest), greatest, 0.0)
    _, exponent = np.frexp(usable)
    # below this limit the second grid would underflow; smaller values count as zero
    return np.asarray(np.where(usable > 0.0, np.ldexp(1.0, BITS - np.maximum(exponent, -850)), 1.0))
