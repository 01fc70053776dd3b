"""A step whose reactions go faster or slower: each rate times 1 + e d, of which e is one more open parameter.

So one kernel does for all sizes e of a direction d. It is compiled for that direction alone.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.formula.tree import Binary, Expression, Number
from airshed.kernels.backend import StepKernel, backend
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.kernels.step.data import StepForcing
from airshed.mechanism.expressions import Parameter

Array = npt.NDArray[np.float64]

_SIZE: Final = "size_of_rate_changes"


def with_rates(
    kernel: StepKernel, changes: Array | None, size: float, layout: Layout
) -> tuple[StepKernel, Callable[[StepForcing], StepForcing]]:  # fmt: skip
    """Return a kernel with rates at so many times their changes (reaction,), and what gives its steps their forcing.

    A kernel without reactions stays as it is.
    """
    if changes is None or size == 0.0 or not kernel.network.reactions:
        return kernel, lambda forcing: forcing
    network, shape = kernel.network, kernel.shape
    reactions = tuple(
        replace(each, rate=_times(each.rate, float(change)))
        for each, change in zip(network.reactions, changes, strict=True)
    )
    faster = replace(network, reactions=reactions)
    place = [each.name for each in faster.parameters].index(_SIZE)
    made = backend().compile_mechanism(faster, shape.levels, shape.precision, operators=shape.operators)
    added: dict[int, tuple[AnyArray | None, AnyArray]] = {}

    def longer(given: AnyArray | None, like: AnyArray) -> AnyArray:
        """What is open, with the size of changes at its place; held, so that no other array has its id."""
        if id(given) not in added:
            before = layout.zeros(0, shape.levels) if given is None else given
            found = layout.zeros(before.shape[2] + 1, shape.levels)
            found[...] = np.insert(before, place, like.dtype.type(size), axis=2)
            added[id(given)] = given, found
        return added[id(given)][1]

    def forcing_of(forcing: StepForcing) -> StepForcing:
        column = forcing.column
        assert column is not None
        first, last = column.parameters or (None, None)
        both = longer(first, column.temperature[0]), longer(last, column.temperature[1])
        return replace(forcing, column=replace(column, parameters=both))

    return made, forcing_of


def _times(rate: Expression, change: float) -> Expression:
    """Return a rate times 1 + e d."""
    return Binary("*", rate, Binary("+", Number(1.0), Binary("*", Number(change), Parameter(_SIZE))))
