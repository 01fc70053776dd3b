"""Repeats a recorded run: with perturbed inputs, tangent-linear, and backwards; the tangent of a run."""

from collections.abc import Callable, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.inverse.cost import Cost, add_gradient, observe, time_at, times_of
from airshed.inverse.reverse.derivatives import derivatives_of, observing, simulation_of
from airshed.inverse.reverse.direction import Changes, Direction
from airshed.inverse.reverse.executors import AdjointExecutor, ReplayExecutor, TangentExecutor
from airshed.inverse.reverse.runners import AdjointOptions, Observer, ReverseStep
from airshed.inverse.verify.recording import STEPS, CostOrMaker, Recording, step_ends
from airshed.kernels.host import AnyArray
from airshed.kernels.step.arguments import TimeLevel
from airshed.models.air.case import Case
from airshed.models.air.model import AirModel
from airshed.runtime.simulation import Simulation

NOTHING: Final = Direction()

Unseen = Cost | Callable[[], Cost]
"""A cost without values yet, or a function that makes one."""


class Replay:
    """The derivatives of the cost of a recorded run.

    cost  a function that makes it for each run, or one that each run copies: so it sees each time once
    all_inputs  compute those of what operators read and of reaction rates, as :meth:`backward` needs
    """

    def __init__(self, recording: Recording, cost: Unseen, *, threads: int = 1, all_inputs: bool = True) -> None:
        self.recording, self._threads, self._all_inputs = recording, threads, all_inputs
        self._area, self._names = recording.area, recording.network.names
        self.look_through(cost)

    def look_through(self, cost: Unseen) -> None:
        """Go on with another cost."""
        self._make_cost = cost if callable(cost) else partial(deepcopy, cost)
        self.cost = self._make_cost()

    def value(self, direction: Direction = NOTHING, size: float = 0.0, observer: Observer | None = None) -> float:
        """Return the cost with inputs at so many times a direction from where they were."""
        recorded, self.cost = self.recording, self._make_cost()
        with closing(self._replay_of(direction, size)) as executor:
            executor.start(recorded.first)
            self._see(recorded.begin, executor.q)
            for record in recorded.steps:
                executor.step(record, observer)
                self._see(record.end, executor.q)
        return self.cost.value

    def _replay_of(self, direction: Direction, size: float) -> ReplayExecutor:
        changes = Changes(direction, self._area, self.recording.members)
        return self.recording.derivatives.replay(changes, size, self._threads)

    @cached_property
    def _tangent(self) -> TangentExecutor:
        return self.recording.derivatives.tangent(self._threads)

    def tangent(self, direction: Direction) -> float:
        """Return the derivative of the cost in a direction, by the tangent-linear model along the recorded levels."""
        recorded, tangent, self.cost = self.recording, self._tangent, self._make_cost()
        tangent.start(recorded.first, direction, recorded.members)
        found = [(recorded.begin, self._area.whole(tangent.change))] if self._see(recorded.begin, tangent.q) else []
        for record, level in zip(recorded.steps, recorded.levels[1:], strict=True):
            tangent.step(record)
            tangent.put_level(level)
            if self._see(record.end, tangent.q):
                found.append((record.end, self._area.whole(tangent.change)))
        return sum(change_of_cost(self.cost, time, change, self._names) for time, change in found)

    @property
    def change(self) -> Array:
        """The changes of mixing ratios (species, level, lat, lon) at the end of the last tangent."""
        return self._area.whole(self._tangent.change)

    def backward(self) -> Direction:
        """Return the adjoints of the cost by all inputs, each as a direction has it."""
        self.value()
        sources = self._reverse_all()
        return self._adjoints(self._adjoint, sources)

    def repeat(self) -> None:
        """Repeat the steps and nothing else, to be measured."""
        self._unchanged.start(self.recording.first)
        for record in self.recording.steps:
            self._unchanged.step(record)

    def reverse(self) -> None:
        """Reverse the steps, to be measured: of a cost whose derivative is zero unless :meth:`value` came before."""
        self._reverse_all()

    @cached_property
    def _unchanged(self) -> ReplayExecutor:
        return self._replay_of(NOTHING, 0.0)

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

    def _see(self, seconds: float, packed: AnyArray) -> bool:
        """Evaluate the cost, if a time of it is here; return whether it is."""
        index = self.recording.network.index
        return observe(self.cost, seconds, lambda name: self._area.whole(packed[:, :, index(name)]))

    def _add_cost(self, seconds: float, executor: AdjointExecutor) -> None:
        add_gradient(self.cost, seconds, self._area, self._names, executor.x)

    def close(self) -> None:
        """End threads."""
        for name in ("_tangent", "_adjoint", "_unchanged"):
            if name in vars(self):
                getattr(self, name).close()


def change_of_cost(cost: Cost, seconds: float, change: Array, names: Sequence[str]) -> float:
    """Return the change of a cost by changes of mixing ratios (species, level, lat, lon) at one of its times."""
    time = time_at(cost.times, seconds)
    assert time is not None
    gradient = cost.gradient(time)
    return float(sum(np.sum(values * change[names.index(name)]) for name, values in gradient.items()))


@dataclass(frozen=True)
class Tangent:
    """The end of a run, and its derivative in a direction.

    seconds         of the end;  state  mixing ratios then [mol/mol] and  change  their derivative, each
                    (species, level, lat, lon)
    cost            its value and  derivative, None without one
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
    """Return the derivative of the state after some steps, or of a cost at its times, in a direction.

        tangent("cases/west-europe", Direction(rates=np.ones(134))).change

    direction  changes of inputs, or a function that makes them for a model
    cost       see :func:`airshed.inverse.gradient`: the run goes to its last time, of any length
    given      what :class:`airshed.Simulation` takes besides: meteorology, initial, allow_code
    Takes three times as long as the run alone, once the tangent is compiled. With several ranks all of them call this,
    and get the whole of it. Raises AirshedError for what is wrong with
    the case.
    """
    with simulation_of(case, **given) as simulation:
        model: AirModel = simulation.model
        to = direction(model) if callable(direction) else direction
        asked = cost(model) if callable(cost) else cost
        return _run(simulation, to, asked, steps)


def _run(simulation: Simulation, to: Direction, cost: Cost | None, steps: int) -> Tangent:
    model: AirModel = simulation.model
    derivatives = derivatives_of(model)
    names, whole, found = model.network.names, derivatives.area.whole, {}
    executor = derivatives.tangent(model.stepper.threads)

    def see(seconds: float) -> None:
        if cost is not None and observe(cost, seconds, lambda name: model.subdomain.whole(model.value(name))):
            found[seconds] = whole(executor.change)

    with closing(executor), observing(model, executor.step):
        executor.start(model.stepper.state, to, derivatives.members)
        see(model.seconds)
        for end in step_ends(simulation, steps, None if cost is None else times_of(cost, simulation.end)[-1]):
            executor.put_level(TimeLevel(model.stepper.state.q, model.stepper.state.air))
            see(end)
        derivative = (
            None if cost is None else sum(change_of_cost(cost, time, each, names) for time, each in found.items())
        )
        change = whole(executor.change)
        state = whole(model.stepper.state.q)
    return Tangent(model.seconds, state, change, None if cost is None else cost.value, derivative)
