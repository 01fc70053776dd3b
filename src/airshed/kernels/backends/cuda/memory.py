"""Memory of devices: blocks in use, memory of kernels alone, and addresses that a device cannot read."""

import ctypes
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.kernels.host import Memory, address


class MemoryBlocks:
    """Addresses and sizes of the arrays of a device that are in use."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}

    @property
    def size(self) -> int:
        """The number of bytes of all blocks."""
        return sum(list(self._sizes.values()))

    def add(self, block: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Add an array until it is freed; return it."""
        self._sizes[address(block)] = block.size
        weakref.finalize(block, self._sizes.pop, address(block))
        return block

    def holds(self, place: int) -> bool:
        """Return whether an address lies in one of the arrays."""
        return any(first <= place < first + size for first, size in list(self._sizes.items()))


class ShimMemory(Memory):
    """Memory of the shim: that of the host, of which only its own arrays count, as on a GPU."""

    def __init__(self) -> None:
        self._blocks = MemoryBlocks()

    def zeros(self, size: int) -> npt.NDArray[np.uint8]:
        """Return zeroed bytes."""
        return self._blocks.add(super().zeros(size))

    def holds(self, place: int) -> bool:
        """Return whether kernels can read an address."""
        return self._blocks.holds(place)


@dataclass(frozen=True)
class WorkingMemory:
    """Memory at an address that only kernels use, freed with its owner."""

    address: int
    owner: object


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
