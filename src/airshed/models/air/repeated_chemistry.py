"""Chemistry of all cells once more, with the same bits, so that its accepted steps can be recorded."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from airshed.core.errors import NumericalError
from airshed.kernels.chemistry import AcceptedSteps
from airshed.kernels.memory import AnyArray
from airshed.models.air.cell_chemistry import Air, CellChemistry, CellCounts

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Integrated:
    """What an integration of all cells from `begin` to `end` [s] took.

    slot      number of the stage among those of chemistry
    first     (pack, width) [s] step to be tried first in each cell, 0 where none was known
    accepted  (pack, width) how many steps counted
    lengths   the steps that counted, without the states between them; None where that was not asked for
    """

    begin: float
    end: float
    slot: int
    first: Array
    accepted: npt.NDArray[np.int32]
    lengths: AcceptedSteps | None = None


def integrate_again(
    chemistry: CellChemistry, done: Integrated, air: Air, q: AnyArray, result: AnyArray, clipped: AnyArray
) -> AcceptedSteps:
    """Integrate mixing ratios q once more into `result`; return the steps that counted.

    Raises NumericalError where others come out than the first time.
    """
    species = len(chemistry.solver.kernel.network.species)
    record = AcceptedSteps.room_for(done.accepted, species, chemistry.solver.kernel.dtype)
    counts, chemistry.counts, chemistry.record = chemistry.counts, CellCounts(), record
    chemistry.first[done.slot] = done.first
    try:
        chemistry.advance(q, result, clipped, air, done.begin, done.end, slot=done.slot)
    finally:
        chemistry.counts, chemistry.record = counts, None
    if not np.array_equal(chemistry.steps.accepted, done.accepted):
        raise NumericalError("chemistry takes other steps the second time: there is no adjoint of the first ones")
    return record


def without_states(steps: AcceptedSteps) -> AcceptedSteps:
    """Return the times and lengths of steps alone."""
    return replace(steps, y=steps.y[:, :0], clipped=steps.clipped[:, :0])
