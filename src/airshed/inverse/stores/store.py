"""Interface of stores, the store in memory, and checksums of stored arrays."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.errors import OutputError
from airshed.kernels.host import ALIGNMENT, address, aligned_copy

Arrays = Mapping[str, npt.NDArray[Any]]
Sums = dict[str, int]

LARGE: Final = 1 << 20
"""Bytes from which on an array's memory is used again; the C library caches smaller ones."""


class Store(Protocol):
    """Store of arrays of this rank by keys, such as "level-17": letters, digits and -."""

    @property
    def bytes(self) -> int:
        """Stored bytes."""
        ...

    @property
    def keys(self) -> list[str]:
        """Keys of the stored arrays, the last one stored at the end."""
        ...

    def put(self, key: str, arrays: Arrays) -> None:
        """Store arrays under a key, in place of older ones; they may change as soon as this returns."""
        ...

    def get(self, key: str) -> Arrays:
        """Return the arrays of a key, not to be changed; raise KeyError where there are none.

        It holds until the key is dropped or put again.
        """
        ...

    def drop(self, key: str) -> None:
        """Discard the arrays of a key; raise KeyError where there are none."""
        ...

    def close(self) -> None:
        """Close the store and discard all arrays."""
        ...


class MemoryStore:
    """Store of copies in memory, which reuses memory.

    A system takes longer to give pages that are new than to fill them, and would have to for each stretch of levels.
    Memory never exceeds the greatest number of stored bytes: where no free array fits, all free ones are released.
    """

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, npt.NDArray[Any]]] = {}
        self._free: list[npt.NDArray[Any]] = []

    @property
    def bytes(self) -> int:
        """Stored bytes."""
        return sum(array.nbytes for arrays in self._kept.values() for array in arrays.values())

    @property
    def keys(self) -> list[str]:
        """The keys; see :class:`Store`."""
        return list(self._kept)

    def put(self, key: str, arrays: Arrays) -> None:
        """Store copies; see :class:`Store`."""
        if key in self._kept:
            self.drop(key)
        self._kept[key] = {name: self._copy(array) for name, array in arrays.items()}

    def get(self, key: str) -> Arrays:
        """Return the copies themselves; see :class:`Store`."""
        return self._kept[key]

    def drop(self, key: str) -> None:
        """Discard arrays; see :class:`Store`."""
        self._free += [array for array in self._kept.pop(key).values() if array.nbytes >= LARGE]

    def _copy(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if array.nbytes < LARGE:
            return aligned_copy(array)
        for number, free in enumerate(self._free):
            if free.shape == array.shape and free.dtype == array.dtype:
                free[...] = array
                return self._free.pop(number)
        self._free.clear()
        return aligned_copy(array)

    def close(self) -> None:
        """Discard all arrays."""
        self._kept.clear()
        self._free.clear()


class OuterStore:
    """Base class of stores that encode arrays for another store, and decode them."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner

    @property
    def bytes(self) -> int:
        """Stored bytes."""
        return self._inner.bytes

    @property
    def keys(self) -> list[str]:
        """The keys of the other store."""
        return self._inner.keys

    def drop(self, key: str) -> None:
        """Discard arrays; see :class:`Store`."""
        self._inner.drop(key)

    def close(self) -> None:
        """Close the other store."""
        self._inner.close()


def aligned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array where kernels can read it: a copy, unless it lies so."""
    return array if address(array) % ALIGNMENT == 0 else aligned_copy(array)


def size_of(arrays: Arrays) -> int:
    """Return the bytes of arrays."""
    return sum(array.nbytes for array in arrays.values())


def checksums(arrays: Arrays) -> Sums:
    """Return the CRC-32 of each array."""
    return {
        name: zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data) for name, array in arrays.items()
    }


def check(arrays: Arrays, sums: Sums, path: Path) -> None:
    """Raise OutputError, which names the file, for arrays that differ from the stored ones."""
    found = checksums(arrays)
    wrong = [name for name, value in sums.items() if found.get(name) != value]
    if wrong:
        raise OutputError(f"{path} is damaged: {wrong[0]} is not what was written")
