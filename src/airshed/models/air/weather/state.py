"""One instant of the atmosphere on the model grid; meteorologies, linear between such instants, and parts of them."""

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
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.weather.fields import by_name, of_use
from airshed.models.air.weather.placement import Area


class MetState:
    """The weather at one instant: fields by their names as attributes, see :data:`airshed.models.air.weather.fields`.

    A state holds all fields of the use "state", and optional ones as far as data has them and they are requested.
    Air fluxes are positive to the east and north; the vertical one follows from continuity and is not kept here.
    """

    def __init__(self, **fields: Array) -> None:
        vars(self).update(fields)

    def __getattr__(self, name: str) -> Array:
        """Refuse a field that the state does not hold."""
        raise AttributeError(f"the state of the air has no {name}; it has {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(vars(self))

    def get(self, name: str) -> Array | None:
        """Return a field, None where the state does not hold it."""
        return getattr(self, name) if name in self.names else None

    def replaced(self, **fields: Array) -> "MetState":
        """Return the state with other values of some fields."""
        return MetState(**{**{name: getattr(self, name) for name in self.names}, **fields})

    def view(self, name: str) -> FieldView | Array:
        """Return a field, or what makes it of some levels alone."""
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
                raise DataError(f"{where}: {name} holds values that are not finite; check the meteorological input")


def always() -> tuple[str, ...]:
    """Return the names of the fields that every state holds."""
    return tuple(each.name for each in of_use("state"))


def interpolate(before: MetState, after: MetState, weight: float) -> MetState:
    """Return (1 - weight) before + weight after for every field; of the Obukhov length its inverse is linear.

    The length goes to infinity between stable and unstable, its inverse passes through 0.
    """
    return before if weight == 0.0 else _Between(before, after, weight)


class _Between(MetState):
    """The state at a time between two others: a field is computed when it is first requested, as few are."""

    _ends: tuple[MetState, MetState]
    _weight: float

    def __init__(self, before: MetState, after: MetState, weight: float) -> None:
        self._ends, self._weight = (before, after), weight

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields that both ends hold."""
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
        """Return what interpolates a field that was not requested yet."""
        if name in vars(self) or name == "obukhov_length":
            return super().view(name)
        first, second = (getattr(end, name) for end in self._ends)
        return _Interpolated(first, second, self._weight)


@dataclass(frozen=True)
class _Interpolated:
    """A field between two others, made of the levels that are requested: a :class:`FieldView`."""

    first: Array
    second: Array
    weight: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the field."""
        return self.first.shape

    def copy_to(self, target: npt.NDArray[Any], indices: Indices) -> None:
        """Fill an array with the values at some levels, with the bits of the whole field."""
        target[...] = (1.0 - self.weight) * self.first[indices] + self.weight * self.second[indices]


def bounded_obukhov_length(inverse: Array) -> Array:
    """Return the Obukhov length [m] of its inverse [1/m], with magnitude between 1 m and 1e6 m."""
    magnitude = np.clip(np.abs(inverse), 1e-6, 1.0)
    return np.asarray(np.where(inverse < 0.0, -1.0, 1.0) / magnitude)


WINDS: Final = ("eastward_wind", "northward_wind")


def winds(state: MetState, grid: Grid) -> dict[str, Array]:
    """Return both components of the wind at cell centres [m s-1] (level, lat, lon), for those who look at it.

    u = (F_west + F_east) / (2 n A), with the fluxes F [mol s-1] through both faces, the density n [mol m-3] of the cell
    between them, and the area A [m2] of a face in its middle; turned from the grid's x and y to east and north. A
    cell's own density stands for those of its faces: the error is that of a difference between neighbours, less than a
    percent.
    """
    x_flux = 0.5 * (state.eastward_air_flux[..., 1:] + state.eastward_air_flux[..., :-1])
    y_flux = 0.5 * (state.northward_air_flux[:, 1:] + state.northward_air_flux[:, :-1])
    per_length = state.air_density * grid.thickness[:, None, None]
    along_x = x_flux / (per_length * (0.5 * (grid.x_face_length[:, 1:] + grid.x_face_length[:, :-1])))
    along_y = y_flux / (per_length * (0.5 * (grid.y_face_length[1:] + grid.y_face_length[:-1])))
    cosine, sine = np.cos(grid.rotation), np.sin(grid.rotation)
    return {"eastward_wind": cosine * along_x - sine * along_y, "northward_wind": sine * along_x + cosine * along_y}


class Meteorology(Protocol):
    """Supplies the state of the air at any time; linear between its instants."""

    @property
    def times(self) -> tuple[float, ...]:
        """Return the instants [s since the case's start] between which the state is linear, rising."""
        ...

    @property
    def provenance(self) -> Mapping[str, str]:
        """Return for each field where it comes from: read (file), given, or diagnosed (formula, source)."""
        ...

    def at(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start]."""
        ...


# Meteorology at instants, linear in between; and meteorologies made of another one: cut, locked, repeated.


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
