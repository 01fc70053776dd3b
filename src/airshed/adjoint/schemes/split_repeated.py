"""Recorded steps of Strang splitting once more, chemistry in steps of the lengths that it took: moved, and tangent."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from airshed.adjoint.changes import Changes
from airshed.adjoint.direction import Direction
from airshed.adjoint.schemes.cells import cells_of, put_cells
from airshed.adjoint.schemes.protocol import Look
from airshed.adjoint.schemes.two_step import copy_state, start_tangent
from airshed.air.cell_chemistry import CellChemistry
from airshed.air.schemes.taken import Reacted, SplitTaken, Taken, TakenStep
from airshed.kernels.backend import Stepper
from airshed.kernels.chemistry import AIR_INPUTS
from airshed.kernels.derivatives import TangentStepper
from airshed.kernels.layout import Layout
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import State
from airshed.kernels.step.operator_fields import Member

Array = npt.NDArray[np.float64]

_DENSITY = AIR_INPUTS.index("M")


class CellsAlong:
    """Half steps of chemistry of given lengths, and their tangent.

    density_factor  see :class:`airshed.adjoint.schemes.split.Split`
    """

    def __init__(self, chemistry: CellChemistry, density_factor: Array) -> None:
        self._chemistry, self._density_factor = chemistry, density_factor
        self._tangent = chemistry.solver.tangent()
        self._species = len(chemistry.solver.kernel.network.species)

    def advance(
        self, q: AnyArray, change: AnyArray | None, air: AnyArray, part: Reacted, factors: Array | float,
        of_factors: Array | float,
    ) -> None:  # fmt: skip
        """Advance packed mixing ratios and their change, in place.

        air      [mol] in each cell
        factors  on rates (reaction,) or on all, with changes `of_factors`
        """
        assert part.integrated.lengths is not None
        inputs = self._chemistry.inputs_in(part.air.with_density(air * self._density_factor))
        density = inputs[:, :, _DENSITY]
        y, moved = cells_of(q, self._species), cells_of(np.zeros_like(q) if change is None else change, self._species)
        y *= density
        moved *= density
        reactions = len(self._chemistry.network.reactions)
        both = (np.broadcast_to(np.asarray(each, np.float64), (reactions,)) for each in (factors, of_factors))
        self._tangent.advance(y, moved, inputs, part.integrated.lengths, *both)
        put_cells(y / density, q)
        if change is not None:
            put_cells(moved / density, change)

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
            if isinstance(part, Reacted):
                self._react(part, look)
                continue
            for stage in part.stages:
                self._carry(self._columns if part.apart else self._moving, stage, look)

    def _react(self, part: Reacted, look: Look | None) -> None:
        assert self._cells is not None
        state = self._moving.state
        before = None if look is None else state.q.copy()
        self._cells.advance(state.q, None, state.air, part, self._factors, 0.0)
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

    def __init__(self, moving: Moved, columns: Moved | None, cells: CellsAlong | None, layout: Layout) -> None:
        self._moving, self._columns, self._cells, self._layout = moving, columns, cells, layout

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
        self._changes = Changes(replace(direction, rates=None), self._layout, members)
        start_tangent(self._moving.stepper, first, direction, self._layout)

    def step(self, taken: TakenStep) -> None:
        """Make a step."""
        assert isinstance(taken, SplitTaken)
        for part in taken.parts:
            if isinstance(part, Reacted):
                assert self._cells is not None
                self._cells.advance(self.q, self.change, self._moving.stepper.state.air, part, 1.0, self._rates)
                continue
            moved = self._columns if part.apart else self._moving
            assert moved is not None
            for stage in part.stages:
                moved.step(stage, self._changes)

    def close(self) -> None:
        """End the threads."""
        for moved in (self._moving, self._columns):
            if moved is not None:
                moved.stepper.close()
        if self._cells is not None:
            self._cells.close()
