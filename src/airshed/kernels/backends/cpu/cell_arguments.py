"""The structs that the compiled chemistry reads, as ``cells/rosenbrock.hpp`` declares them."""

import ctypes
from typing import Final

from airshed.kernels.cells.data import AcceptedSteps
from airshed.kernels.cells.tableau import Tableau
from airshed.kernels.host import address

MOST_STAGES: Final = 6
_Square = (ctypes.c_double * MOST_STAGES) * MOST_STAGES
_Row = ctypes.c_double * MOST_STAGES


class Method(ctypes.Structure):
    """A tableau as numbers."""

    _fields_ = [
        ("stages", ctypes.c_int64),
        ("order", ctypes.c_int64),
        ("gamma", ctypes.c_double),
        ("a", _Square),
        ("c", _Square),
        ("m", _Row),
        ("e", _Row),
        ("alpha", _Row),
        ("gamma_sum", _Row),
        ("evaluates", ctypes.c_int64 * MOST_STAGES),
    ]


class Record(ctypes.Structure):
    """Where accepted steps go."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("first", "room", "time", "step", "y", "clipped")]


class Cells(ctypes.Structure):
    """The places of the cells of a call, and the settings of their integration."""

    _fields_ = (
        [(name, ctypes.c_int64) for name in ("levels", "blocks", "last_lanes")]
        + [(name, ctypes.c_void_p) for name in ("y", "result", "clipped")]
        + [("extra", ctypes.c_void_p), ("stored", ctypes.c_int64)]
        + [(name, ctypes.c_int64) for name in ("block_stride", "level_stride", "species_stride", "mixing_ratios")]
        + [("inputs", ctypes.c_void_p)]
        + [(name, ctypes.c_int64) for name in ("input_count", "degree", "emitted_count", "lost_count")]
        + [(name, ctypes.c_void_p) for name in ("emitted", "lost")]
        + [(name, ctypes.c_double) for name in ("start", "end")]
        + [("absolute", ctypes.c_void_p), ("relative", ctypes.c_double), ("longest", ctypes.c_double)]
        + [("most_steps", ctypes.c_int64)]
        + [(name, ctypes.c_void_p) for name in ("step", "reached", "accepted", "rejected", "record")]
    )


def record_argument(steps: AcceptedSteps) -> Record:
    """Return a record of steps as the compiled code reads it."""
    return Record(**{name: address(array) for name, array in vars(steps).items()})


def method_argument(tableau: Tableau) -> Method:
    """Return a method as the compiled code reads it."""
    argument = Method(stages=tableau.stages, order=tableau.order, gamma=tableau.gamma)
    for i in range(tableau.stages):
        for name in ("a", "c"):
            for j, value in enumerate(getattr(tableau, name)[i]):
                getattr(argument, name)[i][j] = value
        argument.m[i], argument.e[i] = tableau.m[i], tableau.e[i]
        argument.alpha[i], argument.gamma_sum[i] = tableau.alpha[i], tableau.gamma_sums[i]
        argument.evaluates[i] = tableau.evaluates[i]
    return argument
