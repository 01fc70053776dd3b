"""Stores that hand on to another one: in single precision, or as slowly as a disk of a given speed, for trials."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import NumericalError
from airshed.inverse.checkpoints.stores import Arrays, OuterStore, Store, size_of

_MARK: Final = "-single"
"""Behind the name of an array that was double."""


class RoundedStore(OuterStore):
    """Rounds doubles to single precision on their way into another store; other arrays are stored unchanged.

    |stored - given| <= 2^-24 |given|, and 2^-150 where that is less, of numbers below 3.4e38 in size. Raises
    NumericalError for larger ones.
    """

    def put(self, key: str, arrays: Arrays) -> None:
        """Store rounded arrays; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        self._inner.put(key, dict(_rounded(name, array) for name, array in arrays.items()))

    def get(self, key: str) -> Arrays:
        """Return doubles again; see :class:`airshed.inverse.checkpoints.stores.Store`."""
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


class SlowStore(OuterStore):
    """Hands everything to another store, and sleeps as long as a disk would take longer.

    bandwidth  [byte/s] of writing and of reading
    """

    def __init__(self, inner: Store, bandwidth: float) -> None:
        super().__init__(inner)
        self._bandwidth = bandwidth

    def put(self, key: str, arrays: Arrays) -> None:
        """Store arrays; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        with self._slowed() as taken:
            self._inner.put(key, arrays)
            taken.append(size_of(arrays))

    def get(self, key: str) -> Arrays:
        """Return arrays; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        with self._slowed() as taken:
            arrays = self._inner.get(key)
            taken.append(size_of(arrays))
        return arrays

    @contextmanager
    def _slowed(self) -> Iterator[list[int]]:
        """Let the block take as long as the bytes that it appends."""
        began, taken = time.monotonic(), list[int]()
        yield taken
        time.sleep(max(began + sum(taken) / self._bandwidth - time.monotonic(), 0.0))
