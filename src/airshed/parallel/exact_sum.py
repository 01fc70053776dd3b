"""Sums over all ranks with the same bits for any number of them, see :mod:`airshed.core.exact_sum`."""

import numpy as np
import numpy.typing as npt

from airshed.core import exact_sum
from airshed.kernels.backend import Sums
from airshed.parallel.communicator import Communicator

Array = npt.NDArray[np.float64]


def total(values: Array, ranks: Communicator, sums: Sums = exact_sum) -> Array:
    """Return the sums over the first axis, and over all ranks: (summand, ...) -> (...)."""
    flat = np.ascontiguousarray(values, np.float64).reshape(len(values), -1)
    return totals(flat, ranks, sums).reshape(values.shape[1:])


def totals(values: Array, ranks: Communicator, sums: Sums = exact_sum) -> Array:
    """Return the sums over an axis, and over all ranks: (..., summand, column) -> (..., column)."""
    greatest = ranks.largest(sums.magnitudes(values))
    return sums.value(ranks.total(sums.parts(values, greatest)), greatest)
