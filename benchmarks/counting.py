"""Counted work of a compiled step: operations and bytes per cell and step, from the generated code itself."""

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from types import MethodType
from typing import Any, Final

import numpy as np

from airshed.kernels.backends.cpu.kernel import StepKernel

FACE: Final = 17
"""Operations of one limited face flux: 2 differences, 3 for the smooth slope, 4 minima and maxima, 2 bounds, 2 sums,
the flux, 3 choices by the direction of flow."""

TRANSPORT: Final = 3 * FACE + 6 + 7 + 4
"""Operations of transport per species: three faces, their divergence, the two-step right-hand side, the start."""

ELIMINATION: Final = 19
"""Operations per species and sweep in addition to P and L: elimination with a reciprocal, substitution, budget sums."""

EXPONENTIAL: Final = 34
"""Operations of one vector exponential."""

STATE_PASSES: Final = 5
"""Number of times that the step moves a state array between memory and core: q is read, the other time level and the
tendency are read and written."""

FORCING_FIELDS: Final = 2 * 6 + 6
"""Fields without species that the step moves: six at two ends of an interval, and six of air that are both read and
written."""


def operations_per_cell(kernel: StepKernel, sweeps: int) -> float:
    """Return the floating-point operations of a cell in a step."""
    species = len(kernel.network.species)
    chemistry = kernel.source.operations + species * ELIMINATION
    return species * TRANSPORT + sweeps * chemistry + len(kernel.source.table.functions) * EXPONENTIAL


def bytes_per_cell(kernel: StepKernel) -> float:
    """Return the bytes that a cell must move between memory and core in a step, with perfect caches."""
    size = 8 if kernel.shape.precision == "double" else 4
    return float(size * (len(kernel.network.species) * STATE_PASSES + FORCING_FIELDS))


def array_bytes(*holders: object, without: Iterable[object] = ()) -> int:
    """Return the bytes of all arrays in objects of the model and in their members, each array once.

    without  objects that are not searched
    """
    arrays: dict[int, np.ndarray[Any, Any]] = {}
    seen = {id(each) for each in without}
    waiting = list(holders)
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, np.ndarray):
            while isinstance(each.base, np.ndarray):
                each = each.base
            arrays[id(each)] = each
        else:
            waiting.extend(_held(each))
    return sum(array.nbytes for array in arrays.values())


def _held(holder: object) -> Iterable[object]:
    """Return the members of an object of the model, a container, a method or a finished job."""
    if isinstance(holder, Mapping):
        return list(holder.values())
    if isinstance(holder, list | tuple):
        return holder
    if isinstance(holder, Future):
        return [holder.result()] if holder.done() and not holder.exception() else []
    if isinstance(holder, MethodType):
        return [holder.__self__]
    return list(getattr(holder, "__dict__", {}).values()) if type(holder).__module__.startswith("airshed.") else []
