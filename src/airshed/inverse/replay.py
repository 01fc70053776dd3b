"""Repeats a recorded run: with perturbed inputs, tangent-linear, and backwards."""

from collections.abc import Callable, Sequence
from contextlib import closing
from copy import deepcopy
from functools import cached_property, partial
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.inverse.changes import Changes
from airshed.inverse.cost import Cost, time_at
from airshed.inverse.direction import Direction
from airshed.inverse.programs.adjoint import AdjointExecutor
from airshed.inverse.programs.replay import ReplayExecutor, TangentExecutor
from airshed.inverse.programs.steps import AdjointOptions, Observer, ReverseStep
from airshed.inverse.recording import Recording
from airshed.kernels.host import AnyArray
from airshed.kernels.step.data import Level

Array = npt.NDArray[np.float64]

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
        found = [(recorded.begin, self._area.whole(tangent.change))] if self._looks_at(recorded.begin) else []
        self._see(recorded.begin, tangent.q)
        for record, level in zip(recorded.steps, recorded.levels[1:], strict=True):
            tangent.step(record)
            tangent.put_level(level)
            self._see(record.end, tangent.q)
            if self._looks_at(record.end):
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
        earlier = recorded.levels[number - 1] if number else Level(first.q_other, first.air_other)
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

    def _looks_at(self, seconds: float) -> bool:
        return time_at(self.cost.times, seconds) is not None

    def _see(self, seconds: float, packed: AnyArray) -> None:
        time = time_at(self.cost.times, seconds)
        if time is not None:
            index = self.recording.network.index
            self.cost.see(time, lambda name: self._area.whole(packed[:, :, index(name)]))

    def _add_cost(self, seconds: float, executor: AdjointExecutor) -> None:
        time = time_at(self.cost.times, seconds)
        if time is not None:
            for name, values in self.cost.gradient(time).items():
                number = self.recording.network.index(name)
                executor.x[:, :, number] += self._area.own(values, padding="constant")

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
