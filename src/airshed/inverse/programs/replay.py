"""Executors that repeat recorded steps: with the same bits, with changed inputs, and with a tangent."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.inverse.area import Area
from airshed.inverse.changes import Changes
from airshed.inverse.direction import Direction
from airshed.inverse.programs.cells import CellsRecomputation, CellsReplay, CellsTangent
from airshed.inverse.programs.formulas import FormulaRecomputation, FormulaReplay, FormulaTangent
from airshed.inverse.programs.steps import Observer
from airshed.inverse.programs.values import StateValues, TangentValues
from airshed.kernels.backend import Stepper
from airshed.kernels.host import AnyArray
from airshed.kernels.operators import Member
from airshed.kernels.step.data import Level, State, StateAndChanges
from airshed.models.air.programs.cell_chemistry import CellChemistry
from airshed.models.air.programs.records import StepRecord
from airshed.program.execute import walk_forwards

Array = npt.NDArray[np.float64]


class Recomputation:
    """Executor that repeats recorded steps with the same bits, and returns the input of the adjoint of each stage.

    steppers   steppers of the same state, by the keys of their stages;  chemistry  of stages of cells, likewise
    """

    def __init__(
        self, steppers: Mapping[str, Stepper], chemistry: Mapping[str, CellChemistry], density_factor: Array
    ) -> None:
        state, self.chemistry = next(iter(steppers.values())).state, chemistry
        self._values = StateValues(state)
        self._runners = {key: FormulaRecomputation(each) for key, each in steppers.items()} | {
            key: CellsRecomputation(each, density_factor, state) for key, each in chemistry.items()
        }

    def run(self, first: Level, record: StepRecord) -> list[Any]:
        """Repeat a step from a level."""
        self._values.put(first)
        return walk_forwards(record.program, self._runners, self._values, record.stages)

    def close(self) -> None:
        """End the threads."""
        for each in self._runners.values():
            each.close()


class ReplayExecutor:
    """Executor that repeats recorded steps with inputs changed by a multiple of a direction.

    Chemistry takes steps of the recorded lengths, and clips negative concentrations.
    """

    def __init__(
        self, state: State, runners: Mapping[str, FormulaReplay | CellsReplay], changes: Changes, size: float
    ) -> None:
        self._state, self._values, self._runners = state, StateValues(state), runners
        self._changes, self._size = changes, size

    @property
    def q(self) -> AnyArray:
        """The packed mixing ratios now."""
        return self._state.q

    def start(self, first: State) -> None:
        """Start from a state, changed by the direction."""
        _copy_state(first, self._state)
        self._changes.add_to_initial(self.q, self._size)

    def step(self, record: StepRecord, observer: Observer | None = None) -> None:
        """Repeat a step."""
        for each in (self._values, *self._runners.values()):
            each.observer = observer
        walk_forwards(record.program, self._runners, self._values, record.stages)

    def close(self) -> None:
        """End the threads."""
        for each in self._runners.values():
            each.close()


class TangentExecutor:
    """Executor that repeats recorded steps with the changes of the state.

    After each step :meth:`put_level` replaces the level by that of the run. The own level differs by round-off, so that
    a limiter may take another branch than in the run, which the adjoint follows.
    """

    def __init__(
        self, states: StateAndChanges, runners: Mapping[str, FormulaTangent | CellsTangent], area: Area
    ) -> None:
        self._states, self._values, self._runners, self._area = states, TangentValues(states), runners, area

    @property
    def q(self) -> AnyArray:
        """The packed mixing ratios now."""
        return self._states.state.q

    @property
    def change(self) -> AnyArray:
        """Their change."""
        return self._states.changes.q

    def start(self, first: State, direction: Direction, members: Mapping[str, Member]) -> None:
        """Start from a state, with changes of all inputs."""
        _copy_state(first, self._states.state)
        changed = self._states.changes
        for each in (changed.q, changed.q_other, changed.tendency):
            each[...] = 0.0
        if direction.initial is not None:
            changed.q[...] = self._area.own(direction.initial)
        changes = Changes(direction, self._area, members)
        for runner in self._runners.values():
            runner.changes = changes

    def step(self, record: StepRecord) -> None:
        """Repeat a step."""
        walk_forwards(record.program, self._runners, self._values, record.stages)

    def put_level(self, level: Level) -> None:
        """Replace the newest level; changes stay as they are."""
        self._states.state.q[...], self._states.state.air[...] = level.q, level.air

    def close(self) -> None:
        """End the threads."""
        for each in self._runners.values():
            each.close()


def _copy_state(source: State, target: State) -> None:
    for name, array in vars(source).items():
        getattr(target, name)[...] = array
