"""The C structure ``Step`` of ``step/layout.hpp``, field by field."""

import ctypes
from collections.abc import Sequence
from typing import Final

from airshed.kernels.operators import Member


class Ends(ctypes.Structure):
    """A field at the two ends of a forcing interval."""

    _fields_ = (("start", ctypes.c_void_p), ("end", ctypes.c_void_p))


class Ghost(ctypes.Structure):
    """Mixing ratios of a neighbour beyond one side of the tile."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("row_stride", ctypes.c_int64), ("block_stride", ctypes.c_int64),
        ("second", ctypes.c_int64), ("edge", ctypes.c_int64),
    )  # fmt: skip


class Boundary(ctypes.Structure):
    """Boundary concentrations along one side at the two ends of an interval."""

    _fields_ = (("start", ctypes.c_void_p), ("end", ctypes.c_void_p), ("stride", ctypes.c_int64))


class Step(ctypes.Structure):
    """The arguments of every step; the meaning of each field is in ``step/layout.hpp``."""

    _fields_ = (
        ("rows", ctypes.c_int64), ("blocks", ctypes.c_int64), ("last_lanes", ctypes.c_int64),
        ("q", ctypes.c_void_p), ("q_other", ctypes.c_void_p), ("tendency", ctypes.c_void_p),
        ("air", ctypes.c_void_p), ("air_other", ctypes.c_void_p), ("air_tendency", ctypes.c_void_p),
        ("flux_x", Ends), ("flux_y", Ends), ("flux_z", Ends),
        ("flux_weight", ctypes.c_double), ("flux_z_weight", ctypes.c_double), ("boundary_weight", ctypes.c_double),
        ("west", Ghost), ("east", Ghost), ("south", Ghost), ("north", Ghost),
        ("boundary_west", Boundary), ("boundary_east", Boundary),
        ("boundary_south", Boundary), ("boundary_north", Boundary),
        ("top", ctypes.c_void_p), ("vertical_weights", ctypes.c_void_p),
        ("temperature", Ends), ("water", Ends), ("parameters", Ends),
        ("column_weight", ctypes.c_double),
        ("density_factor", ctypes.c_void_p), ("thickness", ctypes.c_void_p), ("photolysis_sun", ctypes.c_void_p),
        ("emission", ctypes.c_void_p), ("emitted", ctypes.c_void_p),
        ("emitted_count", ctypes.c_int64), ("emission_levels", ctypes.c_int64),
        ("oxygen", ctypes.c_double), ("nitrogen", ctypes.c_double),
        ("c0", ctypes.c_double), ("c1", ctypes.c_double), ("t0", ctypes.c_double), ("t1", ctypes.c_double),
        ("g", ctypes.c_double), ("s0", ctypes.c_double), ("s1", ctypes.c_double),
        ("sweeps", ctypes.c_int64), ("number", ctypes.c_int64), ("sums", ctypes.c_void_p),
    )  # fmt: skip


def step_structure(members: Sequence[Member]) -> type[Step]:
    """Return the structure of a step with the fields and numbers of operators."""
    own = [(each.name, ctypes.c_void_p if each.shape is None else Ends) for each in members]
    return type("StepOfKernel", (Step,), {"_fields_": own})


def _words(first: str, last: str) -> slice:
    """The eight-byte words of a step from one field to another: setting them together takes a tenth of the time."""
    return slice(getattr(Step, first).offset // 8, getattr(Step, last).offset // 8 + 1)


STATE: Final = _words("q", "air_tendency")
FLUX_WEIGHTS: Final = _words("flux_weight", "boundary_weight")
WEIGHTS: Final = _words("c0", "s1")
