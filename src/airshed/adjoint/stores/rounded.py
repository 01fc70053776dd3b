"""A store that keeps doubles in single precision."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.adjoint.stores.store import Arrays, OuterStore
from airshed.core.errors import NumericalError

_MARK: Final = "-single"
"""Behind the name of an array that was double."""


class RoundedStore(OuterStore):
    """Rounds doubles to single precision on their way into another store; other arrays are kept as they are.

    |kept - given| <= 2^-24 |given|, and 2^-150 where that is less, of numbers below 3.4e38 in size. Raises
    NumericalError for larger ones.
    """

    def put(self, key: str, arrays: Arrays) -> None:
        """Keep rounded arrays; see :class:`airshed.adjoint.stores.store.Store`."""
        self._inner.put(key, dict(_rounded(name, array) for name, array in arrays.items()))

    def get(self, key: str) -> Arrays:
        """Return doubles again; see :class:`airshed.adjoint.stores.store.Store`."""
        return dict(_restored(name, array) for name, array in self._inner.get(key).items())


def _rounded(name: str, array: npt.NDArray[Any]) -> tuple[str, npt.NDArray[Any]]:
    if array.dtype != np.float64:
        return name, array
    try:
        with np.errstate(over="raise", under="ignore"):
            return name + _MARK, array.astype(np.float32)
    except FloatingPointError as error:
        raise NumericalError(f'{name} exceeds the range of single precision; take adjoint.rounding = "none"') from error


def _restored(name: str, array: npt.NDArray[Any]) -> tuple[str, npt.NDArray[Any]]:
    return (name.removesuffix(_MARK), array.astype(np.float64)) if name.endswith(_MARK) else (name, array)
