"""A mechanism as compiled code, and the stages that lead to it, each timed."""

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


Units = Mapping[str, tuple[int, tuple[str, ...]]]
"""Name of a translation unit -> its number and its compiler options."""


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Note the wall time of a stage [s] under its name."""
    began = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - began


def compiled(
    kind: Callable[..., Kernel], emit: Callable[[], Any], *, name: str, units: Units | None = None,
    flags: Sequence[str] = (), seconds: dict[str, float] | None = None,
) -> Kernel:  # fmt: skip
    """Return a kernel of a kind: its text as `emit` returns it, compiled and loaded.

    kind     the class of the kernel, with those of its fields that do not follow from compilation
    units    translation units, each the whole text under its number; None for one
    seconds  wall time of stages so far
    Raises KernelError when there is no compiler or it refuses the code.
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
