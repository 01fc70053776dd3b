"""The common part of kernels: code generated for a network, compiled, cached and loaded, each stage timed."""

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, TypeVar

import numpy as np

from airshed.kernels import abi
from airshed.kernels.backends.cpu.toolchain import BuiltLibrary, Source, Toolchain, build, find_toolchain, load
from airshed.kernels.layout import Shape
from airshed.mechanism.network import ReactionNetwork

Result = TypeVar("Result")

AnyShape = TypeVar("AnyShape", bound=Shape)
AnySource = TypeVar("AnySource")


@dataclass(frozen=True)
class CompiledKernel(Generic[AnyShape, AnySource]):
    """A mechanism as compiled code.

    library   where the compiled code and its readable source lie
    seconds   wall time of each stage by its name
    """

    network: ReactionNetwork
    shape: AnyShape
    source: AnySource
    library: BuiltLibrary
    functions: ctypes.CDLL
    seconds: dict[str, float]

    @property
    def dtype(self) -> type[np.floating]:
        """NumPy type of the state."""
        return self.shape.dtype


def timed(seconds: dict[str, float], stage: str, work: Callable[[], Result]) -> Result:
    """Do the work of a stage and note its wall time [s] under its name."""
    began = time.perf_counter()
    result = work()
    seconds[stage] = time.perf_counter() - began
    return result


def compile_and_load(
    source: Source, seconds: dict[str, float], *, name: str, extra_flags: Sequence[str] = ()
) -> tuple[BuiltLibrary, ctypes.CDLL]:
    """Return a kernel's library and its functions: the last two stages, noted in `seconds`.

    Raises KernelError when there is no compiler or it refuses the code.
    """
    library = timed(seconds, "compile", lambda: build(source, name=name, extra_flags=extra_flags))
    return library, timed(seconds, "load", lambda: declared(load(library), source))


def keeping_lock(function: Any) -> Callable[..., Any]:
    """Return a declared function whose calls keep Python's interpreter lock: for calls of microseconds.

    A thread that releases the lock may wait milliseconds for it while another thread runs Python.
    """
    where = ctypes.cast(function, ctypes.c_void_p).value
    assert where is not None
    return ctypes.PYFUNCTYPE(function.restype, *function.argtypes)(where)


NUMPY_FLAGS: Final = ("-ffp-contract=off",)
"""NumPy rounds each product before it adds it."""


@cache
def _toolchain() -> Toolchain:
    """Return the compiler, found once: to request its version takes longer than to load a library."""
    return find_toolchain()


def host_functions(text: str, *, name: str) -> ctypes.CDLL:
    """Return the functions of C++ text for arrays of this machine, with the roundings of NumPy.

    Raises KernelError when there is no compiler or it refuses the code.
    """
    library = build(text, name=name, toolchain=_toolchain(), extra_flags=NUMPY_FLAGS)
    return declared(load(library), text)


def declared(library: ctypes.CDLL, source: Source) -> ctypes.CDLL:
    """Return a library with the argument and result types of its functions set, as its source defines them."""
    text = source if isinstance(source, str) else source[0].text
    for name, (result, arguments) in abi.signatures(text).items():
        if hasattr(library, name):  # a unit may leave functions out
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    return library
