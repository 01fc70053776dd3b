"""Runners of stages of chemistry, with its own steps in each cell.

The adjoint covers the steps that each cell accepted. With y = n q and the number density n of air, which the stage does
not change,

    adjoint of q before = n (adjoint of y before),      adjoint of y after = (adjoint of q after) / n
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.inverse.changes import Changes
from airshed.inverse.programs.steps import Observer
from airshed.kernels.cells import AIR_INPUTS, AcceptedSteps
from airshed.kernels.host import AnyArray, aligned_copy, aligned_zeros
from airshed.kernels.step.data import State, StateAndChanges
from airshed.models.air.programs.cell_chemistry import Air, CellChemistry, integrate_again
from airshed.models.air.programs.records import CellsRecord
from airshed.program.stage import Stage

Array = npt.NDArray[np.float64]

_DENSITY = AIR_INPUTS.index("M")


@dataclass(frozen=True)
class CellsSteps:
    """Stage to reverse: its record, its air, and the accepted steps of each cell."""

    record: CellsRecord
    air: Air
    accepted: AcceptedSteps


class CellsRecomputation:
    """Runner that repeats recorded chemistry with the same bits, and stores the accepted steps of each cell."""

    def __init__(self, chemistry: CellChemistry, density_factor: Array, state: State) -> None:
        self.chemistry, self._density_factor, self._state = chemistry, density_factor, state

    def run(self, number: int, stage: Stage, given: CellsRecord) -> CellsSteps:
        """Advance the state; return the steps."""
        state = self._state
        air = given.weather.with_density(state.air * self._density_factor)
        accepted = integrate_again(self.chemistry, given.integrated, air, state.q, state.q_other, state.tendency)
        state.q, state.q_other = state.q_other, state.q
        return CellsSteps(given, air, accepted)

    def close(self) -> None:
        """End the threads."""
        self.chemistry.solver.close()


class CellsReplay:
    """Runner that repeats recorded chemistry with steps of the recorded lengths.

    factors  on rates (reaction,), or one factor for all
    """

    observer: Observer | None = None

    def __init__(self, chemistry: CellChemistry, density_factor: Array, state: State, factors: Array | float) -> None:
        self._chemistry, self._density_factor, self._state = chemistry, density_factor, state
        self._solver, self._factors = chemistry.solver.tangent(), of_each_reaction(chemistry, factors)

    def run(self, number: int, stage: Stage, given: CellsRecord) -> None:
        """Advance the state."""
        assert given.integrated.lengths is not None
        q = self._state.q
        air = given.weather.with_density(self._state.air * self._density_factor)
        inputs = self._chemistry.inputs_in(air)
        y, density = cells_of(q, len(self._chemistry.solver.kernel.network.species)), inputs[:, :, _DENSITY]
        y *= density
        self._solver.repeat(y, inputs, given.integrated.lengths, self._factors)
        y /= density
        put_cells(y, q)
        if self.observer is not None:
            self.observer(None, q, q, None)

    def close(self) -> None:
        """End the threads."""
        self._chemistry.solver.close()


class CellsTangent:
    """Runner that repeats recorded chemistry with the same bits, with its tangent."""

    changes: Changes

    def __init__(self, chemistry: CellChemistry, density_factor: Array, states: StateAndChanges) -> None:
        self._chemistry, self._density_factor, self._states = chemistry, density_factor, states
        self._solver = chemistry.solver.tangent()

    def run(self, number: int, stage: Stage, given: CellsRecord) -> None:
        """Advance the state and its change."""
        # the accepted steps
        state, changes, chemistry = self._states.state, self._states.changes, self._chemistry
        before, result, clipped = (aligned_copy(state.q) for _ in range(3))
        air = given.weather.with_density(state.air * self._density_factor)
        accepted = integrate_again(chemistry, given.integrated, air, before, result, clipped)

        # the tangent along them, in number densities
        inputs = chemistry.inputs_in(air)
        change, density = cells_of(changes.q, len(chemistry.solver.kernel.network.species)), inputs[:, :, _DENSITY]
        change *= density
        rates = self.changes.direction.rates
        self._solver.along(change, inputs, accepted, of_each_reaction(chemistry, 0.0 if rates is None else rates))
        change /= density
        put_cells(change, changes.q)
        state.q[...] = result

    def close(self) -> None:
        """End the threads."""
        self._chemistry.solver.close()


class CellsAdjoint:
    """Runner that reverses chemistry.

    reactions  adjoints of factors on rates, summed over steps, [lat][block][reaction]
    """

    def __init__(self, chemistry: CellChemistry, x: AnyArray) -> None:
        self._chemistry, self._x, self._reverser = chemistry, x, chemistry.solver.reversed()
        layout = chemistry.layout
        self.reactions = np.zeros((layout.rows, layout.blocks, len(chemistry.network.reactions)))

    def run(self, number: int, stage: Stage, given: CellsSteps) -> None:
        """Reverse the stage."""
        chemistry, interval = self._chemistry, given.record.integrated
        inputs = chemistry.inputs_in(given.air)
        density = inputs[:, :, _DENSITY]
        adjoint = cells_of(self._x, len(chemistry.solver.kernel.network.species))
        adjoint /= density
        found = self._reverser.reverse(adjoint, inputs, given.accepted, 0.0, interval.end - interval.begin)
        put_cells(found.adjoint * density, self._x)
        rows, blocks, reactions = self.reactions.shape
        self.reactions += found.rates.reshape(rows, blocks, chemistry.levels, reactions, -1).sum(axis=(2, 4))


def of_each_reaction(chemistry: CellChemistry, values: Array | float) -> Array:
    """Return values (reaction,); a single value is repeated."""
    return np.broadcast_to(np.asarray(values, np.float64), (len(chemistry.network.reactions),))


def cells_of(packed: AnyArray, species: int) -> AnyArray:
    """Return [lat][block][species][level][W] as (pack, species, W); species beyond the known ones are zero."""
    rows, blocks, known, levels, width = packed.shape
    cells = aligned_zeros((rows * blocks * levels, species, width), np.float64)
    cells.reshape(rows, blocks, levels, species, width)[:, :, :, :known] = np.moveaxis(packed, 2, 3)
    return cells


def put_cells(cells: AnyArray, packed: AnyArray) -> None:
    """Fill [lat][block][species][level][W] with cells, without species beyond its own."""
    rows, blocks, known, levels, width = packed.shape
    split = cells.reshape(rows, blocks, levels, cells.shape[1], width)[:, :, :, :known]
    packed[...] = np.moveaxis(split, 3, 2)
