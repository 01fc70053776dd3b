"""Compiled kernels, and the timed stages of their compilation."""

import ctypes
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from airshed.kernels.layout import Shape
from airshed.kernels.toolchain import BuiltLibrary, Source, Unit, build, declared, load
from airshed.mechanism.network import ReactionNetwork

AnyShape = TypeVar("AnyShape", bound=Shape)
AnySource = TypeVar("AnySource")
Kernel = TypeVar("Kernel")


@dataclass(frozen=True)
class GeneratedKernel(Generic[AnyShape, AnySource]):
    """A mechanism as code; seconds: wall time of each stage of its compilation by name."""

    network: ReactionNetwork
    shape: AnyShape
    source: AnySource
    seconds: dict[str, float]

    @property
    def dtype(self) -> type[np.floating]:
        """NumPy type of the state."""
        return self.shape.dtype


@dataclass(frozen=True)
class CompiledKernel(GeneratedKernel[AnyShape, AnySource]):
    """A mechanism as compiled code of the host; library: paths of the compiled code and of its readable source."""

    library: BuiltLibrary
    functions: ctypes.CDLL


Units = Mapping[str, tuple[int, tuple[str, ...]]]
"""Name of a translation unit -> its number and its compiler options."""


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Record the wall time of a stage [s] under its name."""
    began = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - began


def compiled(
    kind: Callable[..., Kernel], emit: Callable[[], Any], *, name: str, units: Units | None = None,
    flags: Sequence[str] = (), seconds: dict[str, float] | None = None,
) -> Kernel:  # fmt: skip
    """Return a kernel: emit its text, compile it, and load it.

    kind     function of the compiled parts that returns the kernel, such as its class
    units    translation units: each is the whole text compiled with its number; None for one unit
    seconds  wall times of earlier stages
    Raises KernelError without a compiler, or if the code does not compile.
    """
    seconds = {} if seconds is None else seconds
    with timed(seconds, "emit"):
        source = emit()
    text: Source = source.text
    if units is not None:
        text = [Unit(unit, f"#define UNIT {number}\n{source.text}", own) for unit, (number, own) in units.items()]
    with timed(seconds, "compile"):
        library = build(text, name=name, extra_flags=flags)
    with timed(seconds, "load"):
        functions = declared(load(library), text)
    return kind(source=source, library=library, functions=functions, seconds=seconds)
