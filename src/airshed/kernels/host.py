"""The host: arrays aligned for vectors, its processor and its cores."""

import ctypes
import hashlib
import os
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

AnyArray = npt.NDArray[np.floating]

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


def address(array: np.ndarray) -> int:
    """Return the address of the data of an array."""
    return int(array.__array_interface__["data"][0])  # ctypes.data takes ten times as long


class Memory:
    """Memory of the arrays of steps, which kernels and NumPy read and write. The base class is that of the host.

    In memory of a device each page is either on the host or on the device, and moves to the side that uses it.
    ``prefetch`` and ``fetch`` avoid page faults. They change no value, and do nothing on the host.
    """

    def zeros(self, size: int) -> npt.NDArray[np.uint8]:
        """Return zeroed bytes."""
        return np.zeros(size, np.uint8)

    def prefetch(self, arrays: Iterable[npt.NDArray[Any]], *, constant: bool) -> None:
        """Start to copy complete arrays to the device; arrays in other memory are ignored.

        constant  whether nothing writes them any more: then the host retains its copy
        """

    def holds(self, pointer: int) -> bool:
        """Return whether kernels can read an address."""
        return True

    def fetch(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return an array for reading on the host: a copy if it is in memory of a device, else the array itself."""
        return array


HOST: Final = Memory()
"""The memory of the host."""


def aligned_zeros(shape: tuple[int, ...], dtype: npt.DTypeLike, memory: Memory = HOST) -> AnyArray:
    """Return zeros whose first element is at a multiple of 64 bytes, as vector loads require."""
    return _aligned(memory.zeros(_bytes(shape, dtype)), shape, dtype)


def aligned_empty(shape: tuple[int, ...], dtype: npt.DTypeLike, memory: Memory = HOST) -> AnyArray:
    """Return an array with the alignment of :func:`aligned_zeros`, uninitialised in memory of the host."""
    if memory is not HOST:
        return aligned_zeros(shape, dtype, memory)
    return _aligned(np.empty(_bytes(shape, dtype), np.uint8), shape, dtype)


def aligned_copy(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a copy that is aligned for vectors."""
    copy: npt.NDArray[Any] = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def _bytes(shape: tuple[int, ...], dtype: npt.DTypeLike) -> int:
    """Return the size of an array with space for its alignment."""
    return prod(shape) * np.dtype(dtype).itemsize + ALIGNMENT


def _aligned(memory: npt.NDArray[np.uint8], shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
    first = -address(memory) % ALIGNMENT
    return memory[first : first + memory.size - ALIGNMENT].view(dtype).reshape(shape)


_TRIM: Final[Callable[[int], int] | None] = getattr(ctypes.CDLL(None), "malloc_trim", None)


def return_to_system() -> None:
    """Return freed memory to the system: a quarter of the memory of a run after its set-up; takes about 1 ms.

    The C library retains blocks below some MiB that NumPy frees, in fragments that later arrays do not always fit. Only
    the GNU library provides this call; with others the function does nothing.
    """
    if _TRIM is not None:
        _TRIM(0)


_CPUINFO = Path("/proc/cpuinfo")
_MODEL_KEYS = ("model name", "Model", "CPU part")
_FEATURE_KEYS = ("flags", "Features")


@dataclass(frozen=True)
class Processor:
    """The processor that kernels are compiled for."""

    architecture: str
    model: str
    features: frozenset[str]

    @property
    def identity(self) -> str:
        """The model and a digest of the instruction sets: virtual machines give one model name to several sets."""
        digest = hashlib.sha256(" ".join(sorted(self.features)).encode()).hexdigest()[:8]
        return f"{self.model} ({self.architecture}, features {digest})"


def parse_cpuinfo(text: str, architecture: str) -> Processor:
    """Read the first processor of a ``/proc/cpuinfo`` text (x86-64 and AArch64 spell its keys differently)."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    model = next((fields[key] for key in _MODEL_KEYS if fields.get(key)), architecture)
    features = next((fields[key] for key in _FEATURE_KEYS if key in fields), "")
    return Processor(architecture, model, frozenset(features.split()))


@cache
def processor() -> Processor:
    """Return the processor of this machine; without ``/proc/cpuinfo``, as Python describes it."""
    try:
        text = _CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Processor(platform.machine(), platform.processor() or platform.machine(), frozenset())
    return parse_cpuinfo(text, platform.machine())


def vector_doubles() -> int:
    """Return how many doubles the widest vectors of the processor hold, at least four.

    Code for wider vectors runs, but compilers turn its selections and lane shifts into scalar code. A step of EMEP with
    eight doubles per pack takes five times as long as with four on a processor with AVX2.
    """
    return 8 if "avx512f" in processor().features else 4


def usable_cores() -> int:
    """Return the number of cores that this process may use; a container or batch system can restrict it."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
