"""Meteorology at instants, linear in between; and meteorologies made of another one: cut, locked, repeated."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from types import MappingProxyType
from typing import Final

from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.weather.placement import Area
from airshed.models.air.weather.state import Meteorology, MetState, interpolate

_KEPT: Final = 3
"""Instants of a series that are kept."""


def around(times: tuple[float, ...], seconds: float) -> tuple[int, ...]:
    """Return the numbers of the instants that the state at a time is made of: one or two."""
    index = bisect_right(times, seconds) - 1
    if index < 0:
        return (0,)
    if index >= len(times) - 1 or seconds == times[index]:
        return (min(index, len(times) - 1),)
    return index, index + 1


def state_at(times: tuple[float, ...], build: Callable[[int], MetState], seconds: float) -> MetState:
    """Return the state at a time, linear between the instants; the first and the last are held beyond them."""
    index, *later = around(times, seconds)
    if not later:
        return build(index)
    weight = (seconds - times[index]) / (times[index + 1] - times[index])
    return interpolate(build(index), build(index + 1), weight)


class CheckedSeries:
    """Meteorology at instants, linear in between: what Datasets, functions and files have in common.

    Before the first and after the last instant that one is held. Raises DataError, when an instant is first requested,
    where its shapes or values cannot be.
    """

    def __init__(
        self, times: tuple[float, ...], area: Area, build: Callable[[int], MetState], provenance: Mapping[str, str]
    ) -> None:
        """``build`` returns the state of the area at an instant, by its index in ``times`` [s]."""
        self.times, self.provenance = times, MappingProxyType(dict(provenance))
        self._area, self._build, self._states = area, build, dict[int, MetState]()

    def at(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start]."""
        return state_at(self.times, self._cached, seconds)

    def _cached(self, index: int) -> MetState:
        """Return the state at an instant, of which the newest three are kept."""
        if index not in self._states:
            if len(self._states) >= _KEPT:
                del self._states[next(iter(self._states))]
            state = self._build(index)
            state.check(self._area.grid, f"the meteorology at {self.times[index]:g} s")
            self._states[index] = state.part(self._area.asked)
        return self._states[index]


class Wrapped:
    """Another meteorology as it is.

    One that reads files while the run goes on has two more methods, which it inherits or not: `take` and `close`.
    """

    def __init__(self, base: Meteorology) -> None:
        self._base, self.times, self.provenance = base, base.times, base.provenance

    def at(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start]."""
        return self._base.at(seconds)

    def take(self, moments: Sequence[float]) -> None:
        """Read what the states at some times [s], in rising order, need, and little else; all ranks together.

        Raises DataError on all ranks where that cannot be read. Only between two calls may other threads request those
        states.
        """
        if hasattr(self._base, "take"):
            self._base.take(moments)

    def close(self) -> None:
        """Close the files that are read."""
        if hasattr(self._base, "close"):
            self._base.close()


class OneAtATime(Wrapped):
    """A meteorology that several threads may ask: one of them reads ahead while another one writes output."""

    def __init__(self, base: Meteorology, inner: Window | None = None) -> None:
        """``inner`` are the columns requested, by their numbers in those of ``base``, where that has a margin."""
        super().__init__(base)
        self._lock, self._inner = Lock(), inner

    def at(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start], without the margin."""
        state = self.around(seconds)
        return state if self._inner is None else state.part(self._inner)

    def around(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start], with the margin, for what looks at neighbours."""
        with self._lock:
            return super().at(seconds)

    def take(self, moments: Sequence[float]) -> None:
        """Have the states at some times [s] at hand."""
        with self._lock:
            super().take(moments)


class WindowOf(Wrapped):
    """The part of any meteorology in a window: the whole is made, and the rest of it dropped.

    For what a user gives; the project's own meteorologies take a window themselves and make nothing else.
    """

    def __init__(self, base: Meteorology, window: Window, grid: Grid) -> None:
        """``grid`` is the whole grid, which the states of ``base`` must fit."""
        super().__init__(base)
        self._window, self._grid = window, grid

    def at(self, seconds: float) -> MetState:
        """Return the window's part of the state at a time [s since the case's start]; DataError where it cannot be."""
        state = super().at(seconds)
        state.check(self._grid, f"the meteorology at {seconds:g} s")
        return state.part(self._window)


class RepeatedDay(Wrapped):
    """A meteorology whose first day is repeated before its start, for a spin-up.

    At times t < 0 the state is that of t + n * 24 h in the first day. Over the last interval before midnight the state
    goes linearly from the day's last instant to the start's.
    """

    def __init__(self, base: Meteorology, days: int) -> None:
        if days < 1:
            raise DataError(f"the first day can be repeated 1 time or more, not {days}")
        super().__init__(base)
        day = [time for time in base.times if 0.0 <= time < SECONDS_PER_DAY]
        if not day or day[0] != 0.0:
            day.insert(0, 0.0)
        repeated = [(time - n * SECONDS_PER_DAY, time) for n in range(days, 0, -1) for time in day]
        later = [(time, time) for time in base.times if time > 0.0]
        self.times, self._sources = zip(*repeated, (0.0, 0.0), *later, strict=True)
        self.provenance = {**base.provenance, "before the start": "the first day, repeated"}

    def at(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start]."""
        return state_at(self.times, lambda index: self._base.at(self._sources[index]), seconds)

    def take(self, moments: Sequence[float]) -> None:
        """Have the states at some times [s] at hand."""
        indices = dict.fromkeys(index for moment in moments for index in around(self.times, moment))
        super().take([self._sources[index] for index in indices])
