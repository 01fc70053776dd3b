"""Where arrays lie: memory of the host, aligned for vectors, and memory that goes back to the system."""

import ctypes
from collections.abc import Callable
from math import prod
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[np.floating]

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


def address(array: np.ndarray) -> int:
    """Return where the array's data lie."""
    return int(array.__array_interface__["data"][0])  # ctypes.data takes ten times as long


def aligned_zeros(shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
    """Return zeros whose first element lies at a multiple of 64 bytes, as vector loads need it."""
    return _aligned(np.zeros(_bytes(shape, dtype), np.uint8), shape, dtype)


def aligned_empty(shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
    """Return an array that lies as one of :func:`aligned_zeros`, to be written."""
    return _aligned(np.empty(_bytes(shape, dtype), np.uint8), shape, dtype)


def aligned_copy(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy that begins where vectors of kernels may."""
    copy: npt.NDArray[Any] = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def _bytes(shape: tuple[int, ...], dtype: npt.DTypeLike) -> int:
    """Return the size of an array, with room to move it to where it is to begin."""
    return prod(shape) * np.dtype(dtype).itemsize + ALIGNMENT


def _aligned(memory: npt.NDArray[np.uint8], shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
    first = -address(memory) % ALIGNMENT
    return memory[first : first + memory.size - ALIGNMENT].view(dtype).reshape(shape)


class Memory(Protocol):
    """Where a backend keeps arrays, which NumPy can read and write; each begins at a multiple of 64 bytes."""

    def zeros(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
        """Return an array of zeros."""
        ...

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
        """Return an array to be written."""
        ...


class HostMemory:
    """Memory of this process."""

    def zeros(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
        """Return an array of zeros."""
        return aligned_zeros(shape, dtype)

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
        """Return an array to be written."""
        return aligned_empty(shape, dtype)


HOST: Final = HostMemory()

_TRIM: Final[Callable[[int], int] | None] = getattr(ctypes.CDLL(None), "malloc_trim", None)


def return_to_system() -> None:
    """Return freed memory to the system: a quarter of what a run holds, after its set-up; takes about 1 ms.

    The C library keeps what NumPy frees below some MiB, in pieces into which later arrays do not always fit. Only the
    GNU library has such a call; with others nothing happens.
    """
    if _TRIM is not None:
        _TRIM(0)
