"""The compiled form of :mod:`airshed.core.exact_sum`, for sums of every step."""

import ctypes
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from airshed.kernels.host import address

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CompiledSums:
    """Magnitudes and parts of summands (..., summand, column) in double, C order, by the code of a kernel."""

    functions: ctypes.CDLL

    def magnitudes(self, values: Array) -> Array:
        """Return the greatest magnitude in each column (..., column), infinite where one is not finite."""
        *several, count, columns = values.shape
        result = np.empty((*several, columns))
        self.functions.airshed_magnitudes(address(values), prod(several), count, columns, address(result))
        return result

    def parts(self, values: Array, greatest: Array) -> npt.NDArray[np.int64]:
        """Return the sums (..., 2, column) of the integers into which the summands are divided."""
        *several, count, columns = values.shape
        result = np.empty((*several, 2, columns), np.int64)
        self.functions.airshed_exact_parts(
            address(values), prod(several), count, columns, address(greatest), address(result)
        )
        return result

    def value(self, sums: npt.NDArray[np.int64], greatest: Array) -> Array:
        """Return the sums (..., column) that the integers (..., 2, column) represent; NaN where one was not finite."""
        *several, columns = greatest.shape
        result = np.empty(greatest.shape)
        self.functions.airshed_exact_value(address(sums), address(greatest), prod(several), columns, address(result))
        return result

    def total(self, values: Array) -> Array:
        """Return the sums (column,) of all summands."""
        greatest = self.magnitudes(values)
        return self.value(self.parts(values, greatest), greatest)
