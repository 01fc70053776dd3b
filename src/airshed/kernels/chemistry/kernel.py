"""Compiles the chemistry of a mechanism for independent cells: network -> elimination -> emit -> compile -> load."""

import ctypes
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from airshed.kernels.chemistry.emit import ChemistryShape, ChemistrySource, emit_chemistry
from airshed.kernels.stages import timed
from airshed.kernels.toolchain import BuiltLibrary, build, load
from airshed.mechanism.network import ReactionNetwork

AIR: Final = ("TEMP", "PRESS", "M", "O2", "N2", "H2O", "SUN", "sec_zenith", "daylight")
"""The inputs of a cell that every mechanism has, in the order of the compiled code."""

WIDTH: Final = 8

_FLAGS: Final = ("-fno-tree-slp-vectorize",)
"""Statements work on whole packs already: looking for more to vectorise in thousands of them takes a second."""


@dataclass(frozen=True)
class ChemistryKernel:
    """A mechanism's chemistry as compiled code.

    seconds   wall time of each stage by its name
    library   where the compiled code and its readable source lie
    """

    network: ReactionNetwork
    shape: ChemistryShape
    source: ChemistrySource
    library: BuiltLibrary
    functions: ctypes.CDLL
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def dtype(self) -> type[np.floating]:
        """NumPy type of concentrations."""
        return np.float64 if self.shape.precision == "double" else np.float32

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of a cell's inputs: its air, then what the mechanism leaves open."""
        return AIR + tuple(each.name for each in self.network.parameters)


def compile_chemistry(network: ReactionNetwork, precision: str = "double", *, width: int = WIDTH) -> ChemistryKernel:
    """Return the compiled chemistry of a mechanism, in "double" or "single" precision.

    Raises KernelError when there is no compiler or it refuses the code.
    """
    seconds: dict[str, float] = {}
    shape = ChemistryShape(width, precision)
    source = timed(seconds, "emit", lambda: emit_chemistry(network, shape))
    name = f"{network.name}-cells-{precision}"
    library = timed(seconds, "compile", lambda: build(source.text, name=name, extra_flags=_FLAGS))
    functions = timed(seconds, "load", lambda: _declare(load(library)))
    return ChemistryKernel(network, shape, source, library, functions, seconds)


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    library.airshed_lanes_bytes.restype = ctypes.c_int64
    library.airshed_lanes_bytes.argtypes = [ctypes.c_int64] * 2
    library.airshed_chemistry.restype = None
    library.airshed_chemistry.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] + [ctypes.c_void_p] * 2
    library.airshed_evaluate.restype = None
    library.airshed_evaluate.argtypes = [ctypes.c_void_p] * 5
    return library
