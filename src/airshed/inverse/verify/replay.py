"""Replay of a recorded run with perturbed inputs, its tangent-linear and adjoint runs, and the tangent of a case."""

from collections.abc import Callable, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.inverse.cost import Cost, add_gradient, cost_times, observe_at, time_at
from airshed.inverse.reverse.derivatives import create_derivatives, create_simulation, observing
from airshed.inverse.reverse.direction import Changes, Direction
from airshed.inverse.reverse.executors import AdjointExecutor, ReplayExecutor, TangentExecutor
from airshed.inverse.reverse.runners import AdjointOptions, Observer, ReverseStep
from airshed.inverse.verify.recording import STEPS, CostOrMaker, RecordedRun, step_ends
from airshed.kernels.host import AnyArray
from airshed.kernels.step.arguments import TimeLevel
from airshed.models.air.case import Case
from airshed.models.air.model import AirModel
from airshed.runtime.simulation import Simulation

NO_CHANGE: Final = Direction()

CostFactory = Cost | Callable[[], Cost]
"""A cost that was not evaluated yet, or a function that returns one."""


class Replay:
    """Replay of a recorded run, with the derivatives of a cost.

    cost        function that returns the cost of each run, or a cost that each run copies and evaluates once
    all_inputs  also compute derivatives by the inputs of operators and by reaction rates; :meth:`backward` needs them
    """

    def __init__(self, recording: RecordedRun, cost: CostFactory, *, threads: int = 1, all_inputs: bool = True) -> None:
        self.recording, self._threads, self._all_inputs = recording, threads, all_inputs
        self._area, self._names = recording.area, recording.network.names
        self.set_cost(cost)

    def set_cost(self, cost: CostFactory) -> None:
        """Replace the cost."""
        self._make_cost = cost if callable(cost) else partial(deepcopy, cost)
        self.cost = self._make_cost()

    def value(self, direction: Direction = NO_CHANGE, size: float = 0.0, observer: Observer | None = None) -> float:
        """Return the cost with inputs perturbed by `size` times a direction."""
        recorded, self.cost = self.recording, self._make_cost()
        with closing(self._perturbed_replay(direction, size)) as executor:
            executor.start(recorded.first)
            self._observe(recorded.begin, executor.q)
            for record in recorded.steps:
                executor.step(record, observer)
                self._observe(record.end, executor.q)
        return self.cost.value

    def _perturbed_replay(self, direction: Direction, size: float) -> ReplayExecutor:
        changes = Changes(direction, self._area, self.recording.members)
        return self.recording.derivatives.replay(changes, size, self._threads)

    @cached_property
    def _tangent(self) -> TangentExecutor:
        return self.recording.derivatives.tangent(self._threads)

    def tangent(self, direction: Direction) -> float:
        """Return the derivative of the cost in a direction, by the tangent-linear model along the recorded levels."""
        recorded, tangent, self.cost = self.recording, self._tangent, self._make_cost()
        tangent.start(recorded.first, direction, recorded.members)
        found = [(recorded.begin, self._area.whole(tangent.change))] if self._observe(recorded.begin, tangent.q) else []
        for record, level in zip(recorded.steps, recorded.levels[1:], strict=True):
            tangent.step(record)
            tangent.put_level(level)
            if self._observe(record.end, tangent.q):
                found.append((record.end, self._area.whole(tangent.change)))
        return sum(cost_change(self.cost, time, change, self._names) for time, change in found)

    @property
    def change(self) -> Array:
        """Tangent-linear change of mixing ratios (species, level, lat, lon) at the end of the last tangent run."""
        return self._area.whole(self._tangent.change)

    def backward(self) -> Direction:
        """Return the gradient of the cost with respect to all inputs, with the shapes of a direction."""
        self.value()
        sources = self._reverse_all()
        return self._adjoints(self._adjoint, sources)

    def repeat(self) -> None:
        """Repeat only the steps, for measurements of time."""
        self._unchanged.start(self.recording.first)
        for record in self.recording.steps:
            self._unchanged.step(record)

    def reverse(self) -> None:
        """Reverse only the steps, for measurements of time; the gradient of the cost is zero before :meth:`value`."""
        self._reverse_all()

    @cached_property
    def _unchanged(self) -> ReplayExecutor:
        return self._perturbed_replay(NO_CHANGE, 0.0)

    @cached_property
    def _adjoint(self) -> AdjointExecutor:
        options = AdjointOptions(self._threads, read=self._all_inputs, reactions=self._all_inputs)
        return self.recording.derivatives.adjoint(options)

    def _reverse_all(self) -> dict[float, AnyArray]:
        recorded, executor = self.recording, self._adjoint
        executor.start(recorded.tendency)
        sources = {begin: self._area.layout.zeros(len(self._names), each) for begin, each in recorded.emission.items()}
        for number in reversed(range(len(recorded.steps))):
            self._add_cost(recorded.steps[number].end, executor)
            executor.reverse(self._reverse_step(number), sources)
        executor.finish(recorded.levels[0])
        self._add_cost(recorded.begin, executor)
        return sources

    def _reverse_step(self, number: int) -> ReverseStep:
        recorded, first = self.recording, self.recording.first
        earlier = recorded.levels[number - 1] if number else TimeLevel(first.q_other, first.air_other)
        before = recorded.steps[number - 1] if number else first.tendency
        levels = earlier, recorded.levels[number], recorded.levels[number + 1]
        return ReverseStep(recorded.steps[number], levels, before)

    def _adjoints(self, executor: AdjointExecutor, sources: dict[float, AnyArray]) -> Direction:
        recorded, whole, totals = self.recording, self._area.whole, executor.totals
        read, total = totals.read, self._area.total
        assert read is not None
        emitted = list(recorded.constants.emitted)
        by_field = {id(each.field): each.adjoint for each in read.fields}
        fields = {
            name: [whole(by_field[id(each)] if id(each) in by_field else np.zeros_like(each)) for each in instants]
            for name, instants in recorded.instants.items()
        }
        return Direction(
            initial=whole(executor.x),
            emission={begin: whole(each)[emitted] for begin, each in sources.items()} if emitted else {},
            boundary_profile=total(totals.boundary_profile),
            boundary={seconds: self._area.around(totals.boundary[seconds]) for seconds in recorded.boundary},
            top=total(totals.top), rates=total(totals.reactions),
            numbers={name: total(each) for name, each in read.numbers.items()}, fields=fields,
        )  # fmt: skip

    def _observe(self, seconds: float, packed: AnyArray) -> bool:
        """Evaluate the cost if this is one of its times; return True if it is."""
        index = self.recording.network.index
        return observe_at(self.cost, seconds, lambda name: self._area.whole(packed[:, :, index(name)]))

    def _add_cost(self, seconds: float, executor: AdjointExecutor) -> None:
        add_gradient(self.cost, seconds, self._area, self._names, executor.x)

    def close(self) -> None:
        """Stop the threads."""
        for name in ("_tangent", "_adjoint", "_unchanged"):
            if name in vars(self):
                getattr(self, name).close()


def cost_change(cost: Cost, seconds: float, change: Array, names: Sequence[str]) -> float:
    """Return the change of a cost by a change of mixing ratios (species, level, lat, lon) at one of its times."""
    time = time_at(cost.times, seconds)
    assert time is not None
    gradient = cost.gradient(time)
    return float(sum(np.sum(values * change[names.index(name)]) for name, values in gradient.items()))


@dataclass(frozen=True)
class Tangent:
    """End of a run, and its derivative in a direction.

    Attributes
    ----------
    seconds : float
        Time [s] of the end of the run.
    state : array
        Mixing ratios at the end [mol/mol] (species, level, lat, lon).
    change : array
        Derivative of the mixing ratios (species, level, lat, lon).
    cost : float or None
        Value of the cost; None without one.
    derivative : float or None
        Derivative of the cost; None without one.
    """

    seconds: float
    state: Array
    change: Array
    cost: float | None
    derivative: float | None


def tangent(
    case: Case | str | Path, direction: Direction | Callable[[AirModel], Direction], cost: CostOrMaker = None, *,
    steps: int = STEPS, **given: Any,
) -> Tangent:  # fmt: skip
    """Return the tangent-linear derivative of the final state, and of a cost, in a direction.

    It takes three times as long as the run, after the tangent is compiled. With several ranks all of them call this,
    and all return the whole fields.

    Parameters
    ----------
    case : Case, str or Path
        Case, or its folder.
    direction : Direction or callable
        Perturbations of inputs, or a function that returns them for a model.
    cost : Cost or callable, optional
        See :func:`airshed.inverse.gradient`; the run ends at its last time.
    steps : int
        Number of steps without a cost.
    **given
        Further parameters of :class:`airshed.Simulation`: meteorology, initial, allow_code.

    Returns
    -------
    Tangent
        State and cost at the end, and their derivatives.

    Raises
    ------
    AirshedError
        If the case is invalid.

    Examples
    --------
    >>> tangent("cases/west-europe", Direction(rates=np.ones(134))).change
    """
    with create_simulation(case, **given) as simulation:
        model: AirModel = simulation.model
        to = direction(model) if callable(direction) else direction
        chosen = cost(model) if callable(cost) else cost
        return _run(simulation, to, chosen, steps)


def _run(simulation: Simulation, to: Direction, cost: Cost | None, steps: int) -> Tangent:
    model: AirModel = simulation.model
    derivatives = create_derivatives(model)
    names, whole, found = model.network.names, derivatives.area.whole, {}
    executor = derivatives.tangent(model.stepper.threads)

    def observe(seconds: float) -> None:
        if cost is not None and observe_at(cost, seconds, lambda name: model.subdomain.whole(model.value(name))):
            found[seconds] = whole(executor.change)

    with closing(executor), observing(model, executor.step):
        executor.start(model.stepper.state, to, derivatives.members)
        observe(model.seconds)
        for end in step_ends(simulation, steps, None if cost is None else cost_times(cost, simulation.end)[-1]):
            executor.put_level(TimeLevel(model.stepper.state.q, model.stepper.state.air))
            observe(end)
        derivative = None if cost is None else sum(cost_change(cost, time, each, names) for time, each in found.items())
        change = whole(executor.change)
        state = whole(model.stepper.state.q)
    return Tangent(model.seconds, state, change, None if cost is None else cost.value, derivative)
