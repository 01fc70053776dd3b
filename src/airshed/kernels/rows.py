"""Values of steps of which several are alike."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Rows:
    """Values of steps, each a row that others may share, as the days of a week do: step n has ``values[of[n]]``.

    values  (rows, ...);  of  (steps,)
    As an array it is (steps, ...).
    """

    values: npt.NDArray[Any]
    of: npt.NDArray[np.int64]

    @staticmethod
    def each(values: npt.NDArray[Any]) -> "Rows":
        """Return the values of steps that share nothing: (steps, ...)."""
        return Rows(values, np.arange(len(values)))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        dense: npt.NDArray[Any] = self.values[self.of]
        return dense.astype(dtype, copy=False)
