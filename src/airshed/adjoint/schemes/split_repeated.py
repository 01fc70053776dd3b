"""Recorded steps of Strang splitting once more: with other inputs, and with changes beside them.

With other inputs chemistry goes in steps of the lengths that it took, and what is negative then is set to zero. Changes
go along the states that came out, with the same bits, and the same values set to zero.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from airshed.adjoint.area import Area
from airshed.adjoint.changes import Changes
from airshed.adjoint.direction import Direction
from airshed.adjoint.schemes.protocol import Look
from airshed.adjoint.schemes.split_again import shares_of
from airshed.adjoint.schemes.split_reverser import cells_of, put_cells
from airshed.adjoint.schemes.two_step import copy_state, put_level, start_tangent
from airshed.air.cell_chemistry import Air, CellChemistry
from airshed.air.repeated_chemistry import integrate_again
from airshed.air.schemes.added import Added
from airshed.air.schemes.taken import Both, Carried, Reacted, SplitTaken, Taken, TakenStep
from airshed.kernels.backend import Stepper
from airshed.kernels.chemistry import AIR_INPUTS
from airshed.kernels.derivatives import TangentStepper
from airshed.kernels.memory import AnyArray, aligned_copy
from airshed.kernels.step.data import Level, State
from airshed.kernels.step.operator_fields import Member

Array = npt.NDArray[np.float64]

_DENSITY = AIR_INPUTS.index("M")


class CellsAlong:
    """Half steps of chemistry once more: of given lengths, or as they were, with their tangent.

    density_factor  see :class:`airshed.adjoint.schemes.split.Split`
    """

    def __init__(self, chemistry: CellChemistry, density_factor: Array) -> None:
        self._chemistry, self._density_factor = chemistry, density_factor
        self._tangent = chemistry.solver.tangent()
        self._species = len(chemistry.solver.kernel.network.species)
        self._reactions = len(chemistry.network.reactions)

    def repeat(self, q: AnyArray, air: AnyArray, part: Reacted, factors: Array | float) -> None:
        """Advance packed mixing ratios in place, in steps of the lengths that were told.

        air  [mol] in each cell;  factors  on rates (reaction,), or on all
        """
        assert part.integrated.lengths is not None
        inputs = self._chemistry.inputs_in(self._air(air, part))
        y, density = cells_of(q, self._species), inputs[:, :, _DENSITY]
        y *= density
        self._tangent.repeat(y, inputs, part.integrated.lengths, self._of_each(factors))
        y /= density
        put_cells(y, q)

    def along(self, q: AnyArray, change: AnyArray, air: AnyArray, part: Reacted, of_factors: Array | float) -> None:
        """Advance packed mixing ratios, with the bits that came out, and their change, in place.

        of_factors  changes of factors on rates (reaction,), or of that on all
        """
        before, weather = aligned_copy(q), self._air(air, part)
        result, clipped = aligned_copy(q), aligned_copy(q)
        record = integrate_again(self._chemistry, part.integrated, weather, before, result, clipped)
        inputs = self._chemistry.inputs_in(weather)
        moved, density = cells_of(change, self._species), inputs[:, :, _DENSITY]
        moved *= density
        self._tangent.along(moved, inputs, record, self._of_each(of_factors))
        moved /= density
        put_cells(moved, change)
        q[...] = result

    def _air(self, air: AnyArray, part: Reacted) -> Air:
        return part.air.with_density(air * self._density_factor)

    def _of_each(self, factors: Array | float) -> Array:
        return np.broadcast_to(np.asarray(factors, np.float64), (self._reactions,))

    def close(self) -> None:
        """End the threads."""
        self._chemistry.solver.close()


class SplitRepeater:
    """Makes steps once more, with inputs moved along a direction."""

    def __init__(
        self, moving: Stepper, columns: Stepper | None, cells: CellsAlong | None, changes: Changes, size: float
    ) -> None:
        self._moving, self._columns, self._cells, self._changes, self._size = moving, columns, cells, changes, size
        rates = changes.direction.rates
        self._factors = 1.0 if rates is None else 1.0 + size * rates

    @property
    def q(self) -> AnyArray:
        """The packed mixing ratios of now."""
        return self._moving.state.q

    def start(self, first: State) -> None:
        """Begin with a state."""
        copy_state(first, self._moving.state)
        self._changes.add_to_initial(self.q, self._size)

    def step(self, taken: TakenStep, look: Look | None = None) -> None:
        """Make a step."""
        assert isinstance(taken, SplitTaken)
        for part in taken.parts:
            if isinstance(part, Both):
                self._both(part, look)
            else:
                self._one(part, look)

    def _both(self, part: Both, look: Look | None) -> None:
        added = Added(self._moving.state)
        for each in part.columns:
            self._one(each, look)
        added.begin_again()
        self._one(part.moved, look)
        added.add_up()
        if look is not None:
            look(part, added.q, self.q, None)

    def _one(self, part: Reacted | Carried, look: Look | None) -> None:
        if isinstance(part, Reacted):
            return self._react(part, look)
        for stage in part.stages:
            self._carry(self._columns if part.apart else self._moving, stage, look)

    def _react(self, part: Reacted, look: Look | None) -> None:
        assert self._cells is not None
        state = self._moving.state
        before = None if look is None else state.q.copy()
        self._cells.repeat(state.q, state.air, part, self._factors)
        if look is not None and before is not None:
            look(part, before, state.q, None)

    def _carry(self, stepper: Stepper | None, stage: Taken, look: Look | None) -> None:
        assert stepper is not None
        sums = stepper.advance([self._changes.perturbed(stage, self._size)])[0]
        if look is not None:
            state = stepper.state
            look(stage, state.q_other, state.q, sums if stepper.kernel.shape.vertical else None)

    def close(self) -> None:
        """End the threads."""
        for each in (self._moving, self._columns, self._cells):
            if each is not None:
                each.close()


@dataclass(frozen=True)
class Moved:
    """What moves species and their changes, and the names of what its operators read."""

    stepper: TangentStepper
    names: Collection[str]

    def step(self, stage: Taken, changes: Changes) -> None:
        """Make a stage, with changes of what it is given and reads."""
        given = changes.of(stage)
        fields = {name: each for name, each in given.fields.items() if name in self.names}
        numbers = {name: each for name, each in given.numbers.items() if name in self.names}
        self.stepper.step(stage.forcing, replace(given, fields=fields, numbers=numbers))


class SplitTangent:
    """Makes steps once more, and changes beside them; `columns` moves the state of `moving`."""

    def __init__(self, moving: Moved, columns: Moved | None, cells: CellsAlong | None, area: Area) -> None:
        self._moving, self._columns, self._cells, self._area = moving, columns, cells, area

    @property
    def q(self) -> AnyArray:
        """The packed mixing ratios of now."""
        return self._moving.stepper.state.q

    @property
    def change(self) -> AnyArray:
        """Their change."""
        return self._moving.stepper.changes.q

    def start(self, first: State, direction: Direction, members: Mapping[str, Member]) -> None:
        """Begin with a state, and changes in a direction."""
        self._rates = 0.0 if direction.rates is None else direction.rates
        self._changes = Changes(replace(direction, rates=None), self._area, members)
        start_tangent(self._moving.stepper, first, direction, self._area)

    def step(self, taken: TakenStep) -> None:
        """Make a step."""
        assert isinstance(taken, SplitTaken)
        for part in taken.parts:
            if isinstance(part, Both):
                self._both(part)
            else:
                self._one(part)

    def _both(self, part: Both) -> None:
        state, first = self._moving.stepper.state, self.change.copy()
        added = Added(state)
        for each in part.columns:
            self._one(each)
        by_columns = self.change.copy()
        added.begin_again()
        self.change[...] = first
        self._one(part.moved)
        kept = added.add_up() >= 0.0
        of_columns, of_moved, of_first = shares_of(added, state)
        changed = of_moved * self.change + of_columns * by_columns - of_first * first
        self.change[...] = np.where(kept, changed, 0.0)

    def _one(self, part: Reacted | Carried) -> None:
        if isinstance(part, Reacted):
            assert self._cells is not None
            return self._cells.along(self.q, self.change, self._moving.stepper.state.air, part, self._rates)
        moved = self._columns if part.apart else self._moving
        assert moved is not None
        for stage in part.stages:
            moved.step(stage, self._changes)

    def reached(self, level: Level) -> None:
        """Go on from the level that the run reached; `columns` has the same state."""
        put_level(level, self._moving.stepper.state)

    def close(self) -> None:
        """End the threads."""
        for moved in (self._moving, self._columns):
            if moved is not None:
                moved.stepper.close()
        if self._cells is not None:
            self._cells.close()
