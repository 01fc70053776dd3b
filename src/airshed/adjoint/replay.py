"""Repeats a recorded run by steppers of its own: with perturbed inputs, tangent-linear, and backwards."""

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.adjoint.changes import Changes
from airshed.adjoint.cost import Cost
from airshed.adjoint.direction import Direction
from airshed.adjoint.rate_factors import with_rates
from airshed.adjoint.recording import Recording
from airshed.kernels.backend import Stepper
from airshed.kernels.derivatives import Reverser, TangentStepper
from airshed.kernels.layout import Layout
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import Level, Share, State

Array = npt.NDArray[np.float64]

NOTHING: Final = Direction()

Look = Callable[[int, AnyArray, Array], None]
"""Is told after each step its number, the packed mixing ratios, and the sums of blocks (block, sum)."""


class Replay:
    """A recorded run and a cost, whose derivatives are asked for.

    read  whether those by what operators read are asked for, which :meth:`backward` tells
    """

    def __init__(self, recording: Recording, cost: Cost, *, threads: int = 1, read: bool = True) -> None:
        self.recording, self.cost, self._threads, self._read = recording, cost, threads, read
        self._layout, self._names = recording.layout, recording.kernel.network.names

    def value(self, direction: Direction = NOTHING, size: float = 0.0, look: Look | None = None) -> float:
        """Return the cost with inputs at so many times a direction from where they were."""
        recorded = self.recording
        changes = Changes(direction, self._layout, recorded.members)
        kernel, forcing_of = with_rates(recorded.kernel, direction.rates, size, self._layout)
        stepper = kernel.stepper(self._layout, changes.constants(recorded.constants, size), threads=self._threads)
        with closing(stepper):
            _copy(recorded.first, stepper.state)
            if direction.initial is not None:
                stepper.state.q += stepper.state.q.dtype.type(size) * self._layout.pack(direction.initial)
            self._see(recorded.begin, stepper.state.q)
            for number, taken in enumerate(recorded.steps):
                sums = stepper.advance([forcing_of(changes.perturbed(taken, size))])[0]
                self._see(taken.end, stepper.state.q)
                if look is not None:
                    look(number, stepper.state.q, sums)
        return self.cost.value

    @cached_property
    def _tangent(self) -> TangentStepper:
        return self.recording.kernel.tangent().stepper(self._layout, self.recording.constants, threads=self._threads)

    def tangent(self, direction: Direction) -> float:
        """Return the derivative of the cost in a direction, by the tangent-linear model."""
        recorded, stepper = self.recording, self._tangent
        changes = Changes(direction, self._layout, recorded.members)
        start_tangent(stepper, recorded.first, direction, self._layout)
        found = [(recorded.begin, self._layout.unpack(stepper.changes.q))] if self._looks_at(recorded.begin) else []
        self._see(recorded.begin, stepper.state.q)
        for taken in recorded.steps:
            stepper.step(taken.forcing, changes.of(taken))
            self._see(taken.end, stepper.state.q)
            if self._looks_at(taken.end):
                found.append((taken.end, self._layout.unpack(stepper.changes.q)))
        return sum(worth(self.cost, time, change, self._names) for time, change in found)

    @property
    def change(self) -> Array:
        """The changes of mixing ratios (species, level, lat, lon) at the end of the last tangent."""
        return self._layout.unpack(self._tangent.changes.q)

    def backward(self) -> Direction:
        """Return the adjoints of the cost by all inputs, each as a direction has it."""
        self.value()
        sources = self._go_back()
        return self._adjoints(self._reverser, sources)

    def repeat(self) -> None:
        """Make the steps and nothing else, as :meth:`take_back` takes them back: to be measured."""
        stepper = self._stepper
        _copy(self.recording.first, stepper.state)
        for taken in self.recording.steps:
            stepper.advance([taken.forcing])

    def take_back(self) -> None:
        """Take the steps back, of a cost whose derivative is zero unless :meth:`value` came before."""
        self._go_back()

    @cached_property
    def _stepper(self) -> Stepper:
        recorded = self.recording
        return recorded.kernel.stepper(self._layout, recorded.constants, threads=self._threads)

    @cached_property
    def _reverser(self) -> Reverser:
        recorded = self.recording
        kernel = recorded.kernel.reversed()
        return kernel.reverser(self._layout, recorded.constants, threads=self._threads, read=self._read)

    def _go_back(self) -> dict[float, AnyArray]:
        recorded, reverser = self.recording, self._reverser
        reverser.start(recorded.tendency)
        sources = {begin: self._layout.zeros(len(self._names), each) for begin, each in recorded.emission.items()}
        for number in reversed(range(len(recorded.steps))):
            self._take_back(reverser, number, sources)
        reverser.finish(recorded.levels[0])
        self._add_cost(recorded.begin, reverser)
        return sources

    def _take_back(self, reverser: Reverser, number: int, sources: dict[float, AnyArray]) -> None:
        recorded, taken = self.recording, self.recording.steps[number]
        first = recorded.first
        earlier = recorded.levels[number - 1] if number else Level(first.q_other, first.air_other)
        before = recorded.steps[number - 1].forcing if number else first.tendency
        self._add_cost(taken.end, reverser)
        shares = [Share(share, sources[begin]) for begin, share in taken.emission]
        reverser.reverse(taken.forcing, (earlier, *recorded.levels[number : number + 2]), before, shares)

    def _adjoints(self, reverser: Reverser, sources: dict[float, AnyArray]) -> Direction:
        recorded, layout, read = self.recording, self._layout, reverser.read
        assert read is not None
        emitted = list(recorded.constants.emitted)
        by_field = {id(each.field): each.adjoint for each in read.fields}
        fields = {
            name: [
                layout.unpack(by_field[id(each)] if id(each) in by_field else np.zeros_like(each)) for each in instants
            ]
            for name, instants in recorded.instants.items()
        }
        return Direction(
            initial=layout.unpack(reverser.x),
            emission={begin: layout.unpack(each)[emitted] for begin, each in sources.items()} if emitted else {},
            outside=reverser.outside.sum(axis=(0, 1)), top=reverser.top.sum(axis=(0, 1)),
            rates=reverser.reactions.sum(axis=(0, 1)),
            numbers={name: each.sum(axis=(0, 1)) for name, each in read.numbers.items()}, fields=fields,
        )  # fmt: skip

    def _looks_at(self, seconds: float) -> bool:
        return seconds in self.cost.times

    def _see(self, seconds: float, packed: AnyArray) -> None:
        if self._looks_at(seconds):
            index = self.recording.kernel.network.index
            self.cost.see(seconds, lambda name: self._layout.unpack(packed[:, :, index(name)]))

    def _add_cost(self, seconds: float, reverser: Reverser) -> None:
        if self._looks_at(seconds):
            for name, values in self.cost.gradient(seconds).items():
                number = self.recording.kernel.network.index(name)
                reverser.x[:, :, number] += self._layout.pack(values, padding="constant")

    def close(self) -> None:
        """End threads."""
        for name in ("_tangent", "_reverser", "_stepper"):
            if name in vars(self):
                getattr(self, name).close()


def start_tangent(stepper: TangentStepper, first: State, direction: Direction, layout: Layout) -> None:
    """Set a state, and the changes of the mixing ratios that a direction has at the beginning."""
    _copy(first, stepper.state)
    for each in (stepper.changes.q, stepper.changes.q_other, stepper.changes.tendency):
        each[...] = 0.0
    if direction.initial is not None:
        stepper.changes.q[...] = layout.pack(direction.initial)


def worth(cost: Cost, seconds: float, change: Array, names: Sequence[str]) -> float:
    """Return what changes of mixing ratios (species, level, lat, lon) at one of a cost's times are worth to it."""
    gradient = cost.gradient(seconds)
    return float(sum(np.sum(values * change[names.index(name)]) for name, values in gradient.items()))


def _copy(source: State, target: State) -> None:
    for name, array in vars(source).items():
        getattr(target, name)[...] = array
