"""Sums over all ranks with the same bits for any number of them, see :mod:`airshed.core.exact_sum`."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from airshed.core import exact_sum
from airshed.parallel.communicator import Communicator

Array = npt.NDArray[np.float64]


class Cut(Protocol):
    """What cuts summands into integers: :mod:`airshed.core.exact_sum`, or its compiled form."""

    def magnitudes(self, values: Array) -> Array:
        """Return the greatest magnitudes (..., column) of (..., summand, column)."""
        ...

    def parts(self, values: Array, greatest: Array) -> npt.NDArray[np.int64]:
        """Return the sums (..., 2, column) of the integers that the summands are cut into."""
        ...

    def value(self, sums: npt.NDArray[np.int64], greatest: Array) -> Array:
        """Return the sums (..., column) that the integers (..., 2, column) stand for."""
        ...


def total(values: Array, ranks: Communicator, cut: Cut = exact_sum) -> Array:
    """Return the sums over the first axis, and over all ranks: (summand, ...) -> (...)."""
    flat = np.ascontiguousarray(values, np.float64).reshape(len(values), -1)
    return totals(flat, ranks, cut).reshape(values.shape[1:])


def totals(values: Array, ranks: Communicator, cut: Cut = exact_sum) -> Array:
    """Return the sums over an axis, and over all ranks: (..., summand, column) -> (..., column)."""
    greatest = ranks.largest(cut.magnitudes(values))
    return cut.value(ranks.total(cut.parts(values, greatest)), greatest)
