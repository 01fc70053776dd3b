"""Memory of devices: blocks in use, memory that is freed with its owner, and addresses that a device cannot read."""

import ctypes
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.kernels.host import address


class MemoryBlocks:
    """Addresses and sizes of the arrays of a device that are in use."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}

    def add(self, block: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Add an array until it is freed; return it."""
        self._sizes[address(block)] = block.size
        weakref.finalize(block, self._sizes.pop, address(block))
        return block

    def holds(self, place: int) -> bool:
        """Return whether an address lies in one of the arrays."""
        return any(first <= place < first + size for first, size in self._sizes.items())


@dataclass(frozen=True)
class WorkingMemory:
    """Memory at an address, freed with its owner."""

    address: int
    owner: object


class FreedMemory:
    """Memory at an address that is freed with this object."""

    def __init__(self, place: int, free: Callable[[int], object]) -> None:
        self._place, self._free = place, free

    def __del__(self) -> None:
        self._free(self._place)


class ManagedMemory(FreedMemory):
    """Managed memory as an array of NumPy, which holds this object."""

    def __init__(self, place: int, size: int, free: Callable[[int], object]) -> None:
        super().__init__(place, free)
        self.__array_interface__ = {"data": (place, False), "shape": (size,), "typestr": "|u1", "version": 3}


def foreign_members(structure: Any, holds: Callable[[int], bool]) -> list[str]:
    """Return the members of an argument structure whose addresses a device cannot read; null is no address.

    holds  whether an address lies in memory of the device
    """
    found = []
    for name, kind in structure._fields_:
        value = getattr(structure, name)
        if issubclass(kind, ctypes.Structure):
            found += [f"{name}.{inner}" for inner in foreign_members(value, holds)]
        elif kind is ctypes.c_void_p and value is not None and not holds(value):
            found.append(name)
    return found
