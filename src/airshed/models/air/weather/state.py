"""State of the atmosphere at an instant on the model grid; meteorologies, linear between instants, and their parts."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from types import MappingProxyType
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import DataError
from airshed.core.fields import FieldView, Indices
from airshed.core.text import duration
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.weather.fields import by_name, of_use
from airshed.models.air.weather.placement import Area


class MetState:
    """Weather at an instant, with fields as attributes, see :data:`airshed.models.air.weather.fields`.

    A state has all fields of the use "state", and requested optional fields that are in the data. Air fluxes are
    positive to the east and north; the vertical flux follows from continuity and is not part of the state.
    """

    def __init__(self, **fields: Array) -> None:
        vars(self).update(fields)

    def __getattr__(self, name: str) -> Array:
        """Raise AttributeError for a field that the state does not have."""
        raise AttributeError(f"the state of the air has no {name}; it has {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(vars(self))

    def get(self, name: str) -> Array | None:
        """Return a field, None if the state does not have it."""
        return getattr(self, name) if name in self.names else None

    def replaced(self, **fields: Array) -> "MetState":
        """Return the state with new values of some fields."""
        return MetState(**{**{name: getattr(self, name) for name in self.names}, **fields})

    def view(self, name: str) -> FieldView | Array:
        """Return a field, or a view that computes only some levels."""
        value: Array = getattr(self, name)
        return value

    def part(self, window: Window) -> "MetState":
        """Return the state of a window's columns with their faces, each field contiguous."""
        known, axes = by_name(), {"east_faces": "x", "north_faces": "y"}
        places = {name: known[name].place if name in known else "cells" for name in self.names}
        return MetState(**{
            name: np.ascontiguousarray(window.of_faces(getattr(self, name), axes.get(place, "")))
            for name, place in places.items()
        })  # fmt: skip

    def check(self, grid: Grid, where: str) -> None:
        """Raise DataError unless every field has the grid's shape and finite values."""
        known = by_name()
        for name in dict.fromkeys([*always(), *self.names]):
            value = getattr(self, name)
            if name in known and value.shape != known[name].shape(grid):
                raise DataError(f"{where}: {name} has shape {value.shape}, the grid needs {known[name].shape(grid)}")
            if name not in known and value.shape[-2:] != grid.shape[1:]:
                raise DataError(f"{where}: {name} has shape {value.shape}, the grid has {grid.shape[1:]} columns")
            if not np.all(np.isfinite(value)):
                raise DataError(f"{where}: {name} has values that are not finite; check the meteorological input")


def always() -> tuple[str, ...]:
    """Return the names of the fields of every state."""
    return tuple(each.name for each in of_use("state"))


def interpolate(before: MetState, after: MetState, weight: float) -> MetState:
    """Return (1 - weight) before + weight after for every field, with the inverse of the Obukhov length.

    The length goes to infinity between stable and unstable, while its inverse passes through 0.
    """
    return before if weight == 0.0 else _InterpolatedState(before, after, weight)


class _InterpolatedState(MetState):
    """State at a time between two others; a field is computed at its first request, since few are requested."""

    _ends: tuple[MetState, MetState]
    _weight: float

    def __init__(self, before: MetState, after: MetState, weight: float) -> None:
        self._ends, self._weight = (before, after), weight

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields of both ends."""
        first, second = self._ends
        return tuple(name for name in first.names if name in second.names)

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or name not in self.names:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        weight, (first, second) = self._weight, (getattr(end, name) for end in self._ends)
        if name == "obukhov_length":
            value = bounded_obukhov_length((1.0 - weight) / first + weight / second)
        else:
            value = (1.0 - weight) * first + weight * second
        vars(self)[name] = value
        return value

    def view(self, name: str) -> FieldView | Array:
        """Return a view that interpolates a field on request."""
        if name in vars(self) or name == "obukhov_length":
            return super().view(name)
        first, second = (getattr(end, name) for end in self._ends)
        return _InterpolatedField(first, second, self._weight)


@dataclass(frozen=True)
class _InterpolatedField:
    """Field between two others, computed for the requested levels: a :class:`FieldView`."""

    first: Array
    second: Array
    weight: float

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the field."""
        return self.first.shape

    def copy_to(self, target: npt.NDArray[Any], indices: Indices) -> None:
        """Fill an array with the values at some levels, bitwise identical to the whole field."""
        target[...] = (1.0 - self.weight) * self.first[indices] + self.weight * self.second[indices]


def bounded_obukhov_length(inverse: Array) -> Array:
    """Return the Obukhov length [m] from its inverse [1/m], with magnitude between 1 m and 1e6 m."""
    magnitude = np.clip(np.abs(inverse), 1e-6, 1.0)
    return np.asarray(np.where(inverse < 0.0, -1.0, 1.0) / magnitude)


WINDS: Final = ("eastward_wind", "northward_wind")


def winds(state: MetState, grid: Grid) -> dict[str, Array]:
    """Return both components of the wind at cell centres [m s-1] (level, lat, lon), for display.

    u = (F_west + F_east) / (2 n A), with the fluxes F [mol s-1] through both faces, and the density n [mol m-3] of the
    cell. A [m2] is the area of a face in the middle of the cell. Winds are rotated from x and y to east and north. The
    density of the cell approximates that of its faces, with an error below a percent.
    """
    x_flux = 0.5 * (state.eastward_air_flux[..., 1:] + state.eastward_air_flux[..., :-1])
    y_flux = 0.5 * (state.northward_air_flux[:, 1:] + state.northward_air_flux[:, :-1])
    per_length = state.air_density * grid.thickness[:, None, None]
    along_x = x_flux / (per_length * (0.5 * (grid.x_face_length[:, 1:] + grid.x_face_length[:, :-1])))
    along_y = y_flux / (per_length * (0.5 * (grid.y_face_length[1:] + grid.y_face_length[:-1])))
    cosine, sine = np.cos(grid.rotation), np.sin(grid.rotation)
    return {"eastward_wind": cosine * along_x - sine * along_y, "northward_wind": sine * along_x + cosine * along_y}


class Meteorology(Protocol):
    """Source of the state of the air at any time; linear between its instants."""

    @property
    def times(self) -> tuple[float, ...]:
        """Return the instants [s since the start of the case] between which the state is linear, increasing."""
        ...

    @property
    def provenance(self) -> Mapping[str, str]:
        """Return the origin of each field: read (file), given, or diagnosed (formula, source)."""
        ...

    def at(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start]."""
        ...


# Meteorology at instants, linear in between, and wrappers of a meteorology: windowed, locked, repeated.


_KEPT: Final = 3
"""Number of cached instants of a series."""


def around(times: tuple[float, ...], seconds: float) -> tuple[int, ...]:
    """Return the indices of the one or two instants for the state at a time."""
    index = bisect_right(times, seconds) - 1
    if index < 0:
        return (0,)
    if index >= len(times) - 1 or seconds == times[index]:
        return (min(index, len(times) - 1),)
    return index, index + 1


def state_at(times: tuple[float, ...], build: Callable[[int], MetState], seconds: float) -> MetState:
    """Return the state at a time, linear between the instants, constant before the first and after the last."""
    index, *later = around(times, seconds)
    if not later:
        return build(index)
    weight = (seconds - times[index]) / (times[index + 1] - times[index])
    return interpolate(build(index), build(index + 1), weight)


class CheckedSeries:
    """Meteorology at instants, linear in between: base class for Datasets, functions and files.

    It is constant before the first and after the last instant. At the first request of an instant, it raises DataError
    for invalid shapes or values.
    """

    def __init__(
        self, times: tuple[float, ...], area: Area, build: Callable[[int], MetState], provenance: Mapping[str, str]
    ) -> None:
        """Store the function ``build``, which returns the state of an instant by its index in ``times`` [s]."""
        self.times, self.provenance = times, MappingProxyType(dict(provenance))
        self._area, self._build, self._states = area, build, dict[int, MetState]()

    def at(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start]."""
        return state_at(self.times, self._cached, seconds)

    def _cached(self, index: int) -> MetState:
        """Return the state at an instant; the newest three are cached."""
        if index not in self._states:
            if len(self._states) >= _KEPT:
                del self._states[next(iter(self._states))]
            state = self._build(index)
            state.check(self._area.grid, f"the meteorology at {duration(self.times[index])}")
            self._states[index] = state.part(self._area.asked)
        return self._states[index]


class MeteorologyWrapper:
    """Wrapper of a meteorology.

    A meteorology that reads files during the run has two more methods, `take` and `close`.
    """

    def __init__(self, base: Meteorology) -> None:
        self._base, self.times, self.provenance = base, base.times, base.provenance

    def at(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start]."""
        return self._base.at(seconds)

    def take(self, moments: Sequence[float]) -> None:
        """Read the data for the states at some times [s], in increasing order; collective.

        Raises DataError on all ranks if they cannot be read. Other threads may request these states only between two
        calls.
        """
        if hasattr(self._base, "take"):
            self._base.take(moments)

    def close(self) -> None:
        """Close the input files."""
        if hasattr(self._base, "close"):
            self._base.close()


class LockedMeteorology(MeteorologyWrapper):
    """Thread-safe wrapper of a meteorology: one thread prefetches while another one writes output."""

    def __init__(self, base: Meteorology, inner: Window | None = None) -> None:
        """Store a meteorology; ``inner`` is the window of requested columns in ``base``, if that has a margin."""
        super().__init__(base)
        self._lock, self._inner = Lock(), inner

    def at(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start], without the margin."""
        state = self.around(seconds)
        return state if self._inner is None else state.part(self._inner)

    def around(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start] with the margin, for processes that need neighbours."""
        with self._lock:
            return super().at(seconds)

    def take(self, moments: Sequence[float]) -> None:
        """Load the states at some times [s]."""
        with self._lock:
            super().take(moments)


class MeteorologyWindow(MeteorologyWrapper):
    """Window of any meteorology, cut from states of the whole grid.

    It is for meteorologies of users; the other meteorologies compute only their window.
    """

    def __init__(self, base: Meteorology, window: Window, grid: Grid) -> None:
        """Store a meteorology; ``grid`` is the whole grid, which the states of ``base`` must match."""
        super().__init__(base)
        self._window, self._grid = window, grid

    def at(self, seconds: float) -> MetState:
        """Return the window of the state at a time [s since the case's start]; raises DataError for invalid states."""
        state = super().at(seconds)
        state.check(self._grid, f"the meteorology at {duration(seconds)}")
        return state.part(self._window)


class RepeatedDay(MeteorologyWrapper):
    """Meteorology with the first day repeated before its start, for a spin-up.

    At times t < 0 the state is that of t + n * 24 h in the first day. Over the last interval before midnight the state
    is linear between the last instant of the day and the start.
    """

    def __init__(self, base: Meteorology, days: int) -> None:
        if days < 1:
            raise DataError(f"the first day can be repeated once or more often, not {days} times")
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
        """Load the states at some times [s]."""
        indices = dict.fromkeys(index for moment in moments for index in around(self.times, moment))
        super().take([self._sources[index] for index in indices])
