"""Memory of devices: arrays that kernels can read, memory for kernels alone, and the check of addresses."""

import ctypes
import weakref
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import KernelError
from airshed.kernels.host import Memory, address


class DeviceMemory(Memory):
    """Memory whose arrays are the only ones that kernels can read."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}

    @property
    def size(self) -> int:
        """The number of bytes in use."""
        return sum(list(self._sizes.values()))  # other threads may allocate meanwhile

    def holds(self, pointer: int) -> bool:
        """Return whether an address is in an array of this memory."""
        return any(first <= pointer < first + size for first, size in list(self._sizes.items()))

    def _add(self, array: npt.NDArray[np.uint8], owner: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        """Register an array until its owner is freed; return it."""
        self._sizes[address(array)] = array.size
        weakref.finalize(owner, self._sizes.pop, address(array))
        return array


class ShimMemory(DeviceMemory):
    """Memory of the shim, on the host: each array lies between guards, which no kernel may change.

    Guards are NaN, so that a number read beyond an array spoils the result.
    """

    _GUARD: Final = 4096

    def __init__(self) -> None:
        super().__init__()
        self._guarded: weakref.WeakValueDictionary[int, npt.NDArray[np.uint8]] = weakref.WeakValueDictionary()

    def zeros(self, size: int) -> npt.NDArray[np.uint8]:
        """Return zeroed bytes, which are freed with the array."""
        whole = np.full(size + 2 * self._GUARD, 0xFF, np.uint8)
        array = whole[self._GUARD : self._GUARD + size]
        array[...] = 0
        self._guarded[address(array)] = whole
        return self._add(array, whole)

    def check(self) -> None:
        """Raise KernelError if a kernel has stored a number beyond an array."""
        for whole in list(self._guarded.values()):
            if whole[: self._GUARD].min() < 0xFF or whole[-self._GUARD :].min() < 0xFF:
                raise KernelError("a kernel has stored a number beyond an array of the device")


@dataclass(frozen=True)
class WorkingMemory:
    """Memory at an address that only kernels use, freed with its owner."""

    address: int
    owner: object


def foreign_members(structure: Any, memory: Memory) -> list[str]:
    """Return the members of an argument structure with addresses outside a memory; null is no address."""
    found = []
    for name, kind in structure._fields_:
        value = getattr(structure, name)
        if issubclass(kind, ctypes.Structure):
            found += [f"{name}.{inner}" for inner in foreign_members(value, memory)]
        elif kind is ctypes.c_void_p and value is not None and not memory.holds(value):
            found.append(name)
    return found
