"""Instants in time order: lookup, linear interpolation between them, and a small cache."""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from types import MappingProxyType

from airshed.models.air.weather.state import MetState, interpolate
from airshed.models.air.weather.window import Area


class InstantCache:
    """Builds instants when they are first asked for, and keeps the newest few."""

    def __init__(self, build: Callable[[int], MetState], keep: int = 3) -> None:
        self._build = build
        self._keep = keep
        self._states: dict[int, MetState] = {}

    def __call__(self, index: int) -> MetState:
        """Return the instant of an index."""
        if index not in self._states:
            if len(self._states) >= self._keep:
                del self._states[next(iter(self._states))]
            self._states[index] = self._build(index)
        return self._states[index]


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

    Before the first and after the last instant that one is held. Raises DataError, when an instant is first asked for,
    where its shapes or values cannot be.
    """

    def __init__(
        self, times: tuple[float, ...], area: Area, build: Callable[[int], MetState], provenance: Mapping[str, str]
    ) -> None:
        """``build`` returns the state of the area at an instant, by its index in ``times`` [s]."""
        self._times, self._area, self._build = times, area, build
        self._cache = InstantCache(self._checked)
        self._provenance = MappingProxyType(dict(provenance))

    @property
    def times(self) -> tuple[float, ...]:
        """Return the instants [s since the case's start]."""
        return self._times

    @property
    def provenance(self) -> Mapping[str, str]:
        """Return where each field comes from: read or given, or how it is diagnosed."""
        return self._provenance

    def at(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start]."""
        return state_at(self._times, self._cache, seconds)

    def _checked(self, index: int) -> MetState:
        state = self._build(index)
        state.check(self._area.grid, f"the meteorology at {self._times[index]:g} s")
        return self._area.cut(state)
