"""The compiler pipeline of a mechanism: network -> schedule -> emit -> compile -> load, each stage timed.

Parsing comes before (``airshed.mechanism``); what comes out is a library of C functions for one mechanism, one number
of levels and one precision.
"""

import ctypes
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from airshed.kernels.emit import Shape, Source, emit
from airshed.kernels.schedule import Schedule, schedule
from airshed.kernels.stages import timed
from airshed.kernels.toolchain import BuiltLibrary, build, load
from airshed.mechanism.network import ReactionNetwork

LARGEST_GROUP: Final = 3
"""Species solved together; measured: see docs/performance.md."""

WIDTH: Final = 8
"""Columns in a pack: one AVX-512 register of doubles, one AVX register of floats; 4 and 16 measured slower."""


UNITS: Final = {"step": 1, "sweeps": 2}
"""Translation units of a kernel, each the whole text under its number: two compilers take half the time of one."""


@dataclass(frozen=True)
class MechanismKernel:
    """A mechanism as compiled code.

    seconds   wall time of each stage by its name
    library   where the compiled code and its readable source lie
    """

    network: ReactionNetwork
    shape: Shape
    schedule: Schedule
    source: Source
    library: BuiltLibrary
    functions: ctypes.CDLL
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def dtype(self) -> type[np.floating]:
        """NumPy type of the state."""
        return np.float64 if self.shape.precision == "double" else np.float32


def compile_mechanism(
    network: ReactionNetwork,
    levels: int,
    precision: str = "double",
    *,
    families: tuple[str, ...] = (),
    width: int = WIDTH,
    largest_group: int = LARGEST_GROUP,
) -> MechanismKernel:
    """Return the compiled code of a mechanism for `levels` levels, in "double" or "single" precision.

    What the mechanism leaves open takes its default where it has one, else it is a field that steps are given.

    families  elements whose atoms a step counts where reactions do not balance them
    Raises KernelError when there is no compiler or it refuses the code.
    """
    seconds: dict[str, float] = {}
    network = network.with_defaults()
    shape = Shape(levels, width, precision, families)
    order = timed(seconds, "schedule", lambda: schedule(network, largest_group))
    source = timed(seconds, "emit", lambda: emit(network, order, shape))
    name = f"{network.name}-{levels}-{precision}"
    units = [(unit, f"#define UNIT {number}\n{source.text}") for unit, number in UNITS.items()]
    library = timed(seconds, "compile", lambda: build(units, name=name))
    functions = timed(seconds, "load", lambda: _declare(load(library)))
    return MechanismKernel(network, shape, order, source, library, functions, seconds)


def _declare(library: ctypes.CDLL) -> ctypes.CDLL:
    library.airshed_worker_bytes.restype = ctypes.c_int64
    library.airshed_worker_bytes.argtypes = [ctypes.c_int64]
    library.airshed_step_rows.restype = None
    library.airshed_step_rows.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
    library.airshed_share_rows.restype = None
    library.airshed_share_rows.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] + [ctypes.c_void_p] * 2
    library.airshed_rates.restype = None
    library.airshed_rates.argtypes = [ctypes.c_void_p] * 5 + [ctypes.c_double] * 2 + [ctypes.c_void_p] * 3
    return library
