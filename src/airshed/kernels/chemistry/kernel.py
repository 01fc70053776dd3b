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

WIDTHS: Final = {"double": 8, "single": 16}
"""Cells in a pack: one AVX-512 register; 8 floats to a pack would take as many instructions as 16."""

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


def compile_chemistry(
    network: ReactionNetwork, precision: str = "double", *, width: int | None = None, inspected: bool = False
) -> ChemistryKernel:
    """Return the compiled chemistry of a mechanism, in "double" or "single" precision.

    width      cells in a pack; without it those that fill a register of the widest vectors
    inspected  whether rate constants, dy/dt and the Jacobian can be called on their own, for tests
    Raises KernelError when there is no compiler or it refuses the code.
    """
    seconds: dict[str, float] = {}
    shape = ChemistryShape(width or WIDTHS[precision], precision, inspected)
    source = timed(seconds, "emit", lambda: emit_chemistry(network, shape))
    name = f"{network.name}-cells-{precision}"
    library = timed(seconds, "compile", lambda: build(source.text, name=name, extra_flags=_FLAGS))
    functions = timed(seconds, "load", lambda: _declare(load(library), inspected))
    return ChemistryKernel(network, shape, source, library, functions, seconds)


def _declare(library: ctypes.CDLL, inspected: bool) -> ctypes.CDLL:
    library.airshed_lanes_bytes.restype = ctypes.c_int64
    library.airshed_lanes_bytes.argtypes = [ctypes.c_int64] * 2
    library.airshed_chemistry.restype = None
    library.airshed_chemistry.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] + [ctypes.c_void_p] * 2
    if inspected:
        library.airshed_evaluate.restype = None
        library.airshed_evaluate.argtypes = [ctypes.c_void_p] * 5
    return library
