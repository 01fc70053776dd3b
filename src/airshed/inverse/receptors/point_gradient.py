"""Gradients of point models: a forward run by a checkpoint plan, and a backward pass in batches of steps.

A restart is the state. A level is the part of the state that the adjoint of a step reads. Both are stored in memory by
the plan of :func:`airshed.inverse.checkpoints.plans.fewest_repetitions`. Batches end at the same steps as those of the
model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.inverse.checkpoints.actions import Advance, DiscardLevels, DiscardRestart, Plan, Restore, Reverse, Sizes
from airshed.inverse.checkpoints.plans import Budget, fewest_repetitions
from airshed.kernels.cells.formulas import StepValues
from airshed.models.points.derivatives import (
    ADDS,
    ADJOINT,
    AMOUNT,
    SEED,
    TANGENT,
    Derivative,
    adjoint,
    in_reverse,
    tangent,
)
from airshed.models.points.model import Batch, CellValues, PointModel, Updates
from airshed.program.execute import walk_backwards, walk_forwards
from airshed.runtime.model import OPTIONAL_PREFIX, Snapshot

Fields = Mapping[str, AnyArray]
Values = Mapping[str, Any]
Progress = Callable[[str, float], None]


class PointCost(Protocol):
    """Cost of a run: a function of fields after its steps."""

    @property
    def fields(self) -> Sequence[str]:
        """Names of the state variables and fluxes that the cost reads."""
        ...

    @property
    def value(self) -> float:
        """Value of the cost after all steps."""
        ...

    def measure(self, first: int, rows: Fields) -> None:
        """Evaluate the fields after consecutive steps (steps, cells), from step number `first`."""
        ...

    def gradient(self, first: int, steps: int) -> Mapping[str, StepValues]:
        """Return the derivative with respect to the fields after consecutive steps (steps, cells)."""
        ...


@dataclass(frozen=True)
class PointGradient:
    """Derivatives of a cost in the cells of this rank.

    initial     with respect to the initial state (cells,)
    shared      with respect to parameters and settable numbers (cells,); the derivative of a number is the sum of cells
    weather     with respect to equal changes of the weather on all steps of a period (periods, cells)
    amounts     derivative times the value of the weather on each step, summed over a period: first-order contribution
    """

    value: float
    initial: Fields
    shared: Fields
    weather: Fields
    amounts: Fields


def point_gradient(
    model: PointModel, cost: PointCost, steps: int, *, memory: int = 2**30, period: int = 1,
    dtype: npt.DTypeLike = np.float64, progress: Progress = lambda part, done: None,
    planned: Callable[[str], None] = lambda line: None,
) -> PointGradient:  # fmt: skip
    """Return the gradient of a cost over the first steps of a model in double precision.

    memory    memory for restarts and levels [bytes]
    period    number of steps over which the derivatives by weather are summed
    dtype     type of these sums
    progress  callback for "forward" or "back", and the completed fraction
    planned   callback for the description of the checkpoint plan

    Raises CaseError for a field that no step computes, and if the memory is too small.
    """
    derivative = adjoint(model.points, cost.fields)
    backward = _Backward(model, cost, derivative, steps, period, dtype)
    trajectory = _Trajectory(model, cost, derivative, progress)
    budget = Budget(trajectory.sizes, memory)
    plan = fewest_repetitions(steps, budget)
    planned(plan.line(budget.sizes))
    trajectory.run(plan, backward.reverse)
    return backward.found()


@dataclass(frozen=True)
class PointChanges:
    """Perturbations of the inputs of a run: initial state, parameters and numbers, and weather.

    weather  function that returns the perturbations for steps that begin at given times [s] (steps, cells); fields
             that it omits have none
    """

    initial: Fields
    shared: Fields
    weather: Callable[[Sequence[float]], Fields] = lambda begins: {}


def point_tangent(model: PointModel, cost: PointCost, steps: int, changes: PointChanges) -> float:
    """Advance a model, and return the tangent-linear change of a linear cost for perturbations of the inputs."""
    derivative = tangent(model.points)
    formulas = derivative.compiled(model.points, model.threads)
    shape = model.domain.box.shape
    values = CellValues({name: array.copy() for name, array in model.state.items()})
    for name in (spec.name for spec in model.points.fields.state):
        values[name + TANGENT] = np.array(np.broadcast_to(changes.initial.get(name, 0.0), shape))
    shared = {name + TANGENT: changes.shared.get(name, 0.0) for name in derivative.carried}
    zero = {name + TANGENT: np.zeros((1, *shape)) for name in derivative.weather}
    runner, total = Updates(formulas, values), 0.0
    while model.steps < steps:
        first, count = model.steps, _batch_steps(model, steps)
        for name, value in model.changes_at(model.seconds).items():
            values[name][...], values[name + TANGENT][...] = value, 0.0
        ends = [step * model.step_length for step in range(first, first + count + 1)]
        moving = {name: StepValues(each, np.zeros(count, np.int64)) for name, each in zero.items()}
        moving |= {name + TANGENT: StepValues.unshared(each) for name, each in changes.weather(ends[:-1]).items()}
        records = {name + TANGENT: np.empty((count, *shape)) for name in cost.fields}
        given = {**model.parameters, **model.points.numbers, **shared, **model.weather(ends[:-1]), **moving}
        walk_forwards(
            model.program, _runners(model, runner), {model.program.home: values}, [Batch(count, given, records)]
        )
        for name, rows in cost.gradient(first, count).items():
            total += float(np.sum(np.asarray(rows) * records[name + TANGENT]))
        model.step_through(ends[1:])
    formulas.close()
    return total


def _batch_steps(model: PointModel, last: int) -> int:
    """Return the maximum number of steps of the next batch, which ends before step `last` at the latest."""
    change = model.next_change()
    until = last if change == inf else round(change / model.step_length)
    return min(model.batch_limits.batch, last - model.steps, until - model.steps)


def _runners(model: PointModel, runner: Updates) -> dict[str, Updates]:
    return {stage.key: runner for stage in model.program.stages}


class _Backward:
    """Backward pass of a run."""

    def __init__(
        self, model: PointModel, cost: PointCost, derivative: Derivative, steps: int, period: int,
        dtype: npt.DTypeLike,
    ) -> None:  # fmt: skip
        self._model, self._cost, self._derivative, self._period = model, cost, derivative, period
        shape, periods = model.domain.box.shape, -(-steps // period)
        carried = (*(name + ADJOINT for name in derivative.carried), *derivative.summed)
        self._adjoints = CellValues({name: np.zeros(shape) for name in carried})
        self._runner = Updates(derivative.compiled(model.points, model.threads), self._adjoints)
        self._sums = {name: np.zeros((periods, *shape), dtype) for name in derivative.summed}

    def reverse(self, first: int, steps: int, values: Values) -> None:
        """Reverse consecutive steps, the earliest of which has the number `first`.

        values  levels before each step, and the weather of each step
        """
        model = self._model
        seeds = {name + SEED: each for name, each in self._cost.gradient(first, steps).items()}
        given = {name: in_reverse(each, steps) for name, each in {**values, **seeds}.items()}
        numbers = np.arange(first, first + steps)[::-1]
        given[ADDS] = ((numbers + 1) % self._period != 0).astype(np.float64)
        rows = np.where(
            numbers % self._period == 0, numbers // self._period, -1
        )  # written at the first step of each period
        records = {name: StepValues(sums, rows) for name, sums in self._sums.items()}
        batch = Batch(steps, {**given, **model.parameters, **model.points.numbers}, records)
        walk_backwards(model.program, _runners(model, self._runner), self._adjoints, [batch])
        for name in model.changes_at(first * model.step_length):
            if name + ADJOINT in self._adjoints:  # the event replaced the earlier value
                self._adjoints[name + ADJOINT][...] = 0.0

    def found(self) -> PointGradient:
        """Return the gradient after all steps are reversed."""
        self._runner.formulas.close()
        state = {spec.name for spec in self._model.points.fields.state}
        own = {name: self._adjoints[name + ADJOINT] for name in self._derivative.carried}
        sums, derivative = self._sums, self._derivative
        return PointGradient(
            self._cost.value,
            {name: each for name, each in own.items() if name in state},
            {name: each for name, each in own.items() if name not in state},
            {name: sums[name + ADJOINT] for name in derivative.weather},
            {name: sums[name + AMOUNT] for name in derivative.amounts},
        )


class _Trajectory:
    """Executor of a checkpoint plan for a point model; see :mod:`airshed.inverse.checkpoints.actions`."""

    def __init__(self, model: PointModel, cost: PointCost, derivative: Derivative, progress: Progress) -> None:
        self._model, self._cost, self._derivative, self._progress = model, cost, derivative, progress
        self._restarts: dict[int, Snapshot] = {}
        self._arrays: dict[str, AnyArray] = {}
        self._levels: dict[str, AnyArray] = {}
        self._batches: list[tuple[int, int]] = []
        self._measured = 0
        self._steps = 0

    @property
    def sizes(self) -> Sizes:
        """Maximum sizes of a restart and of a level over all ranks, so that all ranks have the same plan."""
        domain, cell = self._model.domain, next(iter(self._model.state.values())).nbytes
        own = sum(array.nbytes for array in self._saved().tiled.values()), cell * len(self._derivative.levels)
        return Sizes(*(int(domain.greatest(float(each))) for each in own))

    def run(self, plan: Plan, reverse: Callable[[int, int, Values], None]) -> None:
        """Execute all actions; call `reverse` for each batch with its first step, number of steps and values."""
        self._steps = plan.steps
        for action in plan.actions:
            match action:
                case Advance():
                    self._advance(action)
                case Restore(step):
                    self._model.restore(self._restarts[step])
                case Reverse():
                    for first, steps in reversed(self._batches):
                        reverse(first, steps, self._values(first, steps))
                        self._progress("back", 1.0 - first / plan.steps)
                case DiscardRestart(step):
                    del self._restarts[step]
                case DiscardLevels():
                    self._levels, self._batches = {}, []

    def _advance(self, action: Advance) -> None:
        if action.save_levels:
            levels = action.last - action.first + 1
            if not self._arrays or any(len(each) < levels for each in self._arrays.values()):
                self._arrays = {}  # release the arrays of an earlier stretch first
                shape = (levels, *self._model.domain.box.shape)
                self._arrays = {name: np.empty(shape) for name in self._derivative.levels}
            self._levels = {name: each[:levels] for name, each in self._arrays.items()}
        step, stops = action.first, sorted({*action.restarts, action.last})
        for stop in stops:
            while step < stop:
                step = self._batch(action, step, stop)
            if stop in action.restarts:
                self._restarts[stop] = self._saved()

    def _batch(self, action: Advance, first: int, stop: int) -> int:
        """Run a batch, evaluate the cost if these steps are new, and store the levels before each step."""
        model, length = self._model, self._model.step_length
        count = _batch_steps(model, stop)
        rows, at = slice(first - action.first, first - action.first + count), first - action.first
        records = {}
        if action.save_levels:
            for name, levels in self._levels.items():
                levels[at] = model.changes_at(model.seconds).get(name, model.state[name])
            made = [name for name in self._levels if name in model.points.outputs]
            records = {name: self._levels[name][rows.start + 1 : rows.stop + 1] for name in made}
            self._batches.append((first, count))
        measures = first + count > self._measured
        fields = [name for name in self._cost.fields if name not in records] if measures else []
        records |= {name: np.empty((count, *model.domain.box.shape)) for name in fields}
        model.record(records)
        model.step_through([length * (step + 1) for step in range(first, first + count)])
        model.record({})
        for name, levels in self._levels.items():
            if name not in records:  # no step changes it
                levels[rows.start + 1 : rows.stop + 1] = model.state[name]
        if measures:
            self._cost.measure(first, {name: records[name] for name in self._cost.fields})
            self._measured = first + count
            self._progress("forward", self._measured / self._steps)
        return first + count

    def _values(self, first: int, steps: int) -> Values:
        """Return the levels before the steps of a batch, and the weather of these steps."""
        at = first - self._batches[0][0]
        begins = [self._model.step_length * step for step in range(first, first + steps)]
        levels = {name: StepValues(each, np.arange(at, at + steps)) for name, each in self._levels.items()}
        return {**self._model.weather(begins), **levels}

    def _saved(self) -> Snapshot:
        """Return the state without fluxes, which no later step reads."""
        found = self._model.save()
        tiled = {name: each for name, each in found.tiled.items() if not name.startswith(f"{OPTIONAL_PREFIX}flux.")}
        return replace(found, tiled=tiled, metadata={**found.metadata, "fluxes": []}).copied()
