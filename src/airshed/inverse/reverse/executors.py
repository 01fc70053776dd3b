"""Executors of recorded steps: replay, tangent, recomputation and adjoint, with the derivative of a sum of values.

A sum with coefficients c of values with mixing ratios q and air A [mol] is

    A' = sum c_i A_i,      w = sum c_i A_i q_i / A',      q' = max(w, 0)

so that dq'/dq_i = c_i A_i / A' where w >= 0, and zero elsewhere.

The adjoint reverses the stages of each step, the last one first. A formula with a history is the only stage of its
program. It is reversed from the stored levels of the run. The compiled adjoint fuses the transport of n+1 with the
columns of n, so the adjoint of a level is complete one step later. A step of any other program is repeated from its
first level; then its stages are reversed one by one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.inverse.reverse.area import Area
from airshed.inverse.reverse.direction import Changes, Direction
from airshed.inverse.reverse.runners import (
    CellsAdjoint,
    CellsRecomputation,
    CellsReplay,
    CellsTangent,
    FormulaAdjoint,
    FormulaLevels,
    FormulaRecomputation,
    FormulaReplay,
    FormulaTangent,
    Observer,
    ReverseStep,
    Totals,
)
from airshed.kernels.backend import Reverser, Stepper, SummedInputAdjoints
from airshed.kernels.host import AnyArray
from airshed.kernels.operators import Member
from airshed.kernels.step.arguments import FieldAdjoint, InputAdjoints, State, StateAndChanges, TimeLevel
from airshed.models.air.programs.cell_chemistry import CellChemistry
from airshed.models.air.programs.forward import add_amounts
from airshed.models.air.programs.records import FormulaStep, StepRecord
from airshed.program.execute import walk_backwards, walk_forwards


@dataclass(frozen=True)
class SumShares:
    """Derivative of a sum of values.

    shares       derivatives with respect to the mixing ratios of each value, [lat][block][1][level][W]
    is_positive  True where the sum is not clipped, with the shape of the mixing ratios
    """

    shares: list[AnyArray]
    is_positive: npt.NDArray[np.bool_]


class StateValues:
    """Mixing ratios and air of a state, as values of a program; the observer receives the result of each sum."""

    observer: Observer | None = None

    def __init__(self, state: State) -> None:
        self._state = state

    def copy(self) -> TimeLevel:
        """Return a copy of the newest level."""
        return TimeLevel(self._state.q.copy(), self._state.air.copy())

    def put(self, value: TimeLevel) -> None:
        """Replace the newest level."""
        self._state.q[...], self._state.air[...] = value.q, value.air

    def add_up(self, coefficients: Sequence[float], values: Sequence[TimeLevel]) -> SumShares:
        """Replace the newest level by a weighted sum."""
        q = self._state.q
        shares = _add_up(self._state, coefficients, values)
        if self.observer is not None:
            self.observer(None, q, q, None)
        return shares


LevelAndChange = tuple[TimeLevel, AnyArray]
"""Time level, and the tangent-linear change of its mixing ratios."""


class TangentValues:
    """Mixing ratios and air of a state with their tangent-linear changes, as values of a program."""

    def __init__(self, states: StateAndChanges) -> None:
        self._states, self._values = states, StateValues(states.state)

    def copy(self) -> LevelAndChange:
        """Return a copy of the newest level and its change."""
        return self._values.copy(), self._states.changes.q.copy()

    def put(self, value: LevelAndChange) -> None:
        """Replace the newest level and its change."""
        level, self._states.changes.q[...] = value
        self._values.put(level)

    def add_up(self, coefficients: Sequence[float], values: Sequence[LevelAndChange]) -> SumShares:
        """Replace the newest level and its change by a sum and its tangent."""
        found = _add_up(self._states.state, coefficients, [level for level, _ in values])
        change = self._states.changes.q
        change[...] = 0.0
        for share, (_, each) in zip(found.shares, values, strict=True):
            change += share * each
        change[~found.is_positive] = 0.0
        return found


class AdjointValues:
    """Adjoint of the mixing ratios of a value, in place."""

    def __init__(self, x: AnyArray) -> None:
        self._x = x

    def copy(self) -> AnyArray:
        """Return a copy of the adjoint."""
        return self._x.copy()

    def put(self, value: AnyArray | None) -> None:
        """Replace the adjoint; None is zero."""
        self._x[...] = 0.0 if value is None else value

    def accumulate(self, value: AnyArray) -> None:
        """Add to the adjoint."""
        self._x += value

    def split(self, coefficients: Sequence[float], record: SumShares) -> list[AnyArray]:
        """Return the adjoint of each value of a sum."""
        after = np.where(record.is_positive, self._x, 0.0)
        return [share * after for share in record.shares]


def _add_up(state: State, coefficients: Sequence[float], values: Sequence[TimeLevel]) -> SumShares:
    add_amounts(state, coefficients, [(each.q, each.air) for each in values])
    is_positive = state.q >= 0.0
    np.maximum(state.q, 0.0, out=state.q)
    pairs = zip(coefficients, values, strict=True)
    return SumShares([each * (value.air / state.air)[:, :, None] for each, value in pairs], is_positive)


class Recomputation:
    """Executor that repeats recorded steps bitwise identically, and returns the input of the adjoint of each stage.

    steppers   steppers of the same state, by the keys of their stages
    chemistry  chemistry of stages of cells, by the keys of the stages
    """

    def __init__(
        self, steppers: Mapping[str, Stepper], chemistry: Mapping[str, CellChemistry], density_factor: Array
    ) -> None:
        state, self.chemistry = next(iter(steppers.values())).state, chemistry
        self._values = StateValues(state)
        self._runners = {key: FormulaRecomputation(each) for key, each in steppers.items()} | {
            key: CellsRecomputation(each, density_factor, state) for key, each in chemistry.items()
        }

    def run(self, first: TimeLevel, record: StepRecord) -> list[Any]:
        """Repeat a step from a level."""
        self._values.put(first)
        return walk_forwards(record.program, self._runners, self._values, record.stages)

    def close(self) -> None:
        """Stop the threads."""
        for each in self._runners.values():
            each.close()


class ReplayExecutor:
    """Executor that repeats recorded steps with inputs perturbed by a multiple of a direction.

    Chemistry uses the recorded step lengths, and clips negative concentrations.
    """

    def __init__(
        self, state: State, runners: Mapping[str, FormulaReplay | CellsReplay], changes: Changes, size: float
    ) -> None:
        self._state, self._values, self._runners = state, StateValues(state), runners
        self._changes, self._size = changes, size

    @property
    def q(self) -> AnyArray:
        """Current packed mixing ratios."""
        return self._state.q

    def start(self, first: State) -> None:
        """Start from a state perturbed by the direction."""
        _copy_state(first, self._state)
        self._changes.add_to_initial(self.q, self._size)

    def step(self, record: StepRecord, observer: Observer | None = None) -> None:
        """Repeat a step."""
        for each in (self._values, *self._runners.values()):
            each.observer = observer
        walk_forwards(record.program, self._runners, self._values, record.stages)

    def close(self) -> None:
        """Stop the threads."""
        for each in self._runners.values():
            each.close()


class TangentExecutor:
    """Executor that repeats recorded steps together with their tangent.

    After each step :meth:`put_level` replaces the level by that of the run. The repeated level differs by round-off, so
    a limiter could take a different branch than in the run, whose branches the adjoint follows.
    """

    def __init__(
        self, states: StateAndChanges, runners: Mapping[str, FormulaTangent | CellsTangent], area: Area
    ) -> None:
        self._states, self._values, self._runners, self._area = states, TangentValues(states), runners, area

    @property
    def q(self) -> AnyArray:
        """Current packed mixing ratios."""
        return self._states.state.q

    @property
    def change(self) -> AnyArray:
        """Tangent-linear change of the packed mixing ratios."""
        return self._states.changes.q

    def start(self, first: State, direction: Direction, members: Mapping[str, Member]) -> None:
        """Start from a state with perturbations of all inputs."""
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

    def put_level(self, level: TimeLevel) -> None:
        """Replace the newest level; changes are retained."""
        self._states.state.q[...], self._states.state.air[...] = level.q, level.air

    def close(self) -> None:
        """Stop the threads."""
        for each in self._runners.values():
            each.close()


def _copy_state(source: State, target: State) -> None:
    for name, array in vars(source).items():
        getattr(target, name)[...] = array


class AdjointExecutor:
    """Executor that reverses steps.

    x              adjoint of the mixing ratios of the current level, to which costs add their gradients
    formulas       adjoints of formulas by the keys of their stages
    cells          adjoints of chemistry by the keys of their stages
    recomputation  executor that repeats steps; None for a formula with a history
    owned          close the recomputation together with this executor
    """

    def __init__(
        self, x: AnyArray, formulas: Mapping[str, FormulaAdjoint], cells: Mapping[str, CellsAdjoint],
        recomputation: Recomputation | None, *, owned: bool,
    ) -> None:  # fmt: skip
        self.x, self._formulas, self._cells = x, formulas, cells
        self._recomputation, self._owned = recomputation, owned
        self._values = AdjointValues(x)

    @property
    def totals(self) -> Totals:
        """Adjoints summed so far."""
        reversers = self._reversers.values()
        reactions = [each.reactions for each in reversers] + [each.reactions for each in self._cells.values()]
        instants = sorted({seconds for each in reversers for seconds in each.boundary})
        return Totals(
            {at: _sum([each.boundary[at] for each in reversers if at in each.boundary]) for at in instants},
            _sum([each.boundary_profile for each in reversers]), _sum([each.top for each in reversers]),
            _sum([each for each in reactions if each.size] or reactions[:1]), _joined(self.reads),
        )  # fmt: skip

    @property
    def reads(self) -> Sequence[SummedInputAdjoints]:
        """Adjoints of the inputs of operators, for each kernel; empty if not computed."""
        return [each.input_adjoints for each in self._reversers.values() if each.input_adjoints is not None]

    @property
    def _reversers(self) -> dict[str, Reverser]:
        return {key: each.reverser for key, each in self._formulas.items()}

    @property
    def _history(self) -> Reverser | None:
        """Adjoint of a formula with a history; None without one."""
        return None if self._recomputation is not None else next(iter(self._reversers.values()))

    def start(self, tendency: AnyArray) -> None:
        """Start after the last step with its tendency T(n), with adjoints of zero."""
        for each in self._reversers.values():
            each.start(tendency)
        for cells in self._cells.values():
            cells.reactions[...] = 0.0

    def reverse(self, step: ReverseStep, sources: Mapping[float, AnyArray]) -> None:
        """Reverse a step.

        sources  adjoints of sources by the beginnings of their periods [s], which are incremented
        """
        for each in self._formulas.values():
            each.sources = sources
        if self._recomputation is not None:
            stages = self._recomputation.run(step.levels[1], step.record)
        else:
            before = step.before if isinstance(step.before, np.ndarray) else _only_step(step.before).forcing
            stages = [FormulaLevels([_only_step(step.record)], step.levels, before=before)]
        walk_backwards(step.record.program, {**self._formulas, **self._cells}, self._values, stages)

    def finish(self, first: TimeLevel) -> None:
        """Complete the adjoint of the first level."""
        if self._history is not None:
            self._history.finish(first)

    def jump(self, now: TimeLevel) -> AnyArray:
        """Return the sensitivity to a jump of the mixing ratios just before the last reversed step, at its level n.

        With a history the jump is in both time levels.
        """
        return self.x.copy() if self._history is None else self._history.jump(now)

    def save(self) -> dict[str, AnyArray]:
        """Return the arrays from which another executor continues, without :attr:`reads`."""
        stored = {
            f"{key}.{name}": array for key, each in self._reversers.items() for name, array in each.save().items()
        }
        return stored | {f"{key}.reactions": each.reactions for key, each in self._cells.items()}

    def restore(self, stored: Mapping[str, AnyArray], after: StepRecord) -> None:
        """Continue from the arrays of another executor; after: the record of the last reversed step."""
        for key, each in self._reversers.items():
            own = {name.removeprefix(f"{key}."): array for name, array in stored.items() if name.startswith(f"{key}.")}
            each.restore(own, None if self._history is None else _only_step(after).forcing)
        for key, cells in self._cells.items():
            cells.reactions[...] = stored[f"{key}.reactions"]

    def close(self) -> None:
        """Stop the threads."""
        for each in self._reversers.values():
            each.close()
        if self._recomputation is not None and self._owned:
            self._recomputation.close()


class JoinedReads:
    """Adjoints of the inputs of operators, joined over kernels; satisfies ``kernels.step.arguments.InputAdjoints``."""

    def __init__(self, reads: Sequence[InputAdjoints]) -> None:
        self._reads, self.numbers = reads, dict[str, Array]()
        for name, values in ((name, values) for each in reads for name, values in each.numbers.items()):
            self.numbers[name] = self.numbers[name] + values if name in self.numbers else values

    @property
    def fields(self) -> list[FieldAdjoint]:
        """Adjoints of fields at each instant of the forcing."""
        return [each for read in self._reads for each in read.fields]


def _joined(reads: Sequence[InputAdjoints]) -> InputAdjoints | None:
    return JoinedReads(reads) if len(reads) > 1 else next(iter(reads), None)


def _sum(arrays: Sequence[Array]) -> Array:
    return np.sum(arrays, axis=0) if len(arrays) > 1 else arrays[0]


def _only_step(record: StepRecord) -> FormulaStep:
    """Return the only formula step of a record, for a formula with a history."""
    (step,) = record.formula_steps
    return step
