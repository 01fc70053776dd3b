"""What any store does, the one in memory, and checksums of what one that is no archive gives back."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.errors import OutputError
from airshed.kernels.memory import ALIGNMENT, address, aligned_copy

Arrays = Mapping[str, npt.NDArray[Any]]
Sums = dict[str, int]

LARGE: Final = 1 << 20
"""Bytes from which on an array's memory is used again; the C library keeps what is smaller."""


class Store(Protocol):
    """Keeps arrays of this rank by keys, such as "level-17": letters, digits and -."""

    @property
    def bytes(self) -> int:
        """What is kept, in bytes."""
        ...

    @property
    def keys(self) -> list[str]:
        """The keys under which something is kept, the one that was put last at the end."""
        ...

    def put(self, key: str, arrays: Arrays) -> None:
        """Keep arrays, which may change as soon as this returns, in place of what was kept under the key."""
        ...

    def get(self, key: str) -> Arrays:
        """Return what is kept under a key, not to be changed; raises KeyError where nothing is.

        It holds until the key is dropped or put again.
        """
        ...

    def drop(self, key: str) -> None:
        """Forget what is kept under a key; raises KeyError where nothing is."""
        ...

    def close(self) -> None:
        """End the store and forget everything."""
        ...


class MemoryStore:
    """Keeps copies in memory, and that memory for copies to come.

    A system takes longer to give pages that are new than to fill them, and would have to for each stretch of levels.
    What is held never grows beyond what was kept at a time: where nothing that is free fits, all of it goes back.
    """

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, npt.NDArray[Any]]] = {}
        self._free: list[npt.NDArray[Any]] = []

    @property
    def bytes(self) -> int:
        """What is kept, in bytes."""
        return sum(array.nbytes for arrays in self._kept.values() for array in arrays.values())

    @property
    def keys(self) -> list[str]:
        """The keys; see :class:`Store`."""
        return list(self._kept)

    def put(self, key: str, arrays: Arrays) -> None:
        """Keep copies; see :class:`Store`."""
        if key in self._kept:
            self.drop(key)
        self._kept[key] = {name: self._copy(array) for name, array in arrays.items()}

    def get(self, key: str) -> Arrays:
        """Return the copies themselves; see :class:`Store`."""
        return self._kept[key]

    def drop(self, key: str) -> None:
        """Forget; see :class:`Store`."""
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
        """Forget everything."""
        self._kept.clear()
        self._free.clear()


class OuterStore:
    """Hands what it keeps to another store; those derived from it say what they change of that, and on its way back."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner

    @property
    def bytes(self) -> int:
        """What is kept, in bytes."""
        return self._inner.bytes

    @property
    def keys(self) -> list[str]:
        """The keys of the other store."""
        return self._inner.keys

    def drop(self, key: str) -> None:
        """Forget; see :class:`Store`."""
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
    """Raise OutputError, which names the file, for arrays that are not those that were kept."""
    found = checksums(arrays)
    wrong = [name for name, value in sums.items() if found.get(name) != value]
    if wrong:
        raise OutputError(f"{path} is damaged: {wrong[0]} is not what was written")
