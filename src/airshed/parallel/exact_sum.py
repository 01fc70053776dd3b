"""Sums over all ranks with the same bits for any number of them, see :mod:`airshed.core.exact_sum`."""

import numpy as np
import numpy.typing as npt

from airshed.core import exact_sum
from airshed.parallel.communicator import Communicator

Array = npt.NDArray[np.float64]


def total(values: Array, ranks: Communicator) -> Array:
    """Return the sums over the first axis, and over all ranks: (summand, ...) -> (...)."""
    flat = np.asarray(values, np.float64).reshape(len(values), -1)
    greatest = ranks.largest(exact_sum.magnitudes(flat))
    sums = ranks.total(exact_sum.parts(flat, greatest))
    return exact_sum.value(sums, greatest).reshape(values.shape[1:])
