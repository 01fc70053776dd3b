"""Times of ERA5 data: the instants of a case, and accumulated rain, evaporation and radiation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import DataError
from airshed.core.text import duration
from airshed.io.era5_fields import time_reader

_SECOND = np.timedelta64(1, "s")


@dataclass(frozen=True)
class ForcingTimes:
    """Instants of a forcing, with the index of each in the data.

    times   [s since the start of the case], increasing, the first at or before the start
    source  index of each instant in the data
    held    True if the last instant repeats the last one of the data
    """

    times: tuple[float, ...]
    source: tuple[int, ...]
    held: bool
    is_hourly: bool

    @classmethod
    def of(cls, data_times: NDArray[np.datetime64], start: np.datetime64, length: float | None) -> "ForcingTimes":
        """Return the instants around the period from ``start`` over ``length`` [s]; None: all later instants.

        If the data ends within one interval before the end of the period, its last instant is repeated.
        raises  DataError if the data does not cover the period, or has a gap in it
        """
        seconds = (data_times.astype("datetime64[ns]") - start.astype("datetime64[ns]")) / _SECOND
        steps = np.diff(seconds)
        interval = float(np.median(steps)) if steps.size else 3600.0
        end = float(max(seconds[-1], 0.0) + interval) if length is None else float(length)
        if seconds[0] > 0.0 or seconds[-1] + interval < max(end, 0.0):
            raise DataError(
                f"the data covers {_text(data_times[0])} to {_text(data_times[-1])} UTC, the case needs "
                f"{_text(start)} to {_text(start + np.timedelta64(round(end), 's'))}; change [time] or add data"
            )
        first = int(np.searchsorted(seconds, 0.0, side="right")) - 1
        last = min(int(np.searchsorted(seconds, end)), seconds.size - 1)
        wide = np.flatnonzero(steps[first:last] > 1.5 * interval)
        if wide.size:
            gap = first + int(wide[0])
            raise DataError(
                f"the data has no times between {_text(data_times[gap])} and {_text(data_times[gap + 1])} UTC, "
                f"although its interval is {duration(interval)}; add the missing times"
            )
        times = [float(value) for value in seconds[first : last + 1]]
        source = list(range(first, last + 1))
        held = times[-1] < end
        if held:
            times.append(times[-1] + interval)
            source.append(last)
        return cls(tuple(times), tuple(source), held, interval == 3600.0)


STEADY: Final = ForcingTimes((0.0,), (0,), held=False, is_hourly=False)
"""Data without times: one instant, valid always."""


def _text(when: np.datetime64) -> str:
    """Return a time to the minute."""
    return str(when.astype("datetime64[m]"))


Begins = frozenset[float]
"""Times of the day [s] of the first value after a restart of a sum; empty for sums from the start of a forecast."""

ACCUMULATED: Final = ("tp", "e", "ssrd", "sshf")

MOST_IN_AN_HOUR: Final = {"tp": np.inf, "e": 1.6e-3, "ssrd": 5.0e6, "sshf": 4.0e6}
"""Upper limits of hourly amounts, in ERA5's units: 5 MJ m-2 is more than the solar constant."""

_GROWING: Final = ("tp", "ssrd")
"""Sums that never decrease."""

_BEFORE, _AFTER = 24, 49
"""Number of instants before and after the start of the case for the detection of growing sums."""

_LEAST_RISES: Final = 4
"""Minimum number of increases of a sum that is constant otherwise: rain increases over three intervals at its onset."""
_STAYING: Final = 0.2
_LEAST_RUN: Final = 3
_ROUND_OFF: Final = 1e-4
_HOUR: Final = 3600.0
_RUN: Final = 6.0 * _HOUR
"""Sums restart at 00, 06, 12 or 18 UTC."""


def accumulations(around: xr.Dataset, first: int) -> "dict[str, Begins | Intervals]":
    """Return the accumulated fields that are not sums of one hour, with their intervals or the times of restarts.

    first  index of the first instant that the case needs
    """
    stated = {name: Intervals.of(around[name]) for name in ACCUMULATED if name in around}
    return {**growing_sums(around, first), **{name: each for name, each in stated.items() if each is not None}}


def growing_sums(around: xr.Dataset, first: int) -> dict[str, Begins]:
    """Return the accumulated fields of ERA5 data with growing sums, and the times at which these restart.

    first  index of the first instant that the case needs
    """
    names = [name for name in ACCUMULATED if name in around and "time" in around[name].dims]
    found: dict[str, Begins | None] = {}
    for name in names:
        places = range(max(first - _BEFORE, 0), min(first + _AFTER, around.sizes["time"]))
        values, times = _looked_at(around.variables[name], around["time"].values, places)
        found[name] = _of_field(name, values, times, forecast=bool(around[name].attrs.get("steps")))
    sums = {name: begins for name, begins in found.items() if begins is not None}
    if not sums:
        return {}
    kin = next(iter(sums.values()))
    falls = {name for name in names if name not in sums and name in _GROWING}
    return {name: kin if name not in _GROWING else sums[name] for name in names if name not in falls}


def _looked_at(field: xr.Variable, times: NDArray[np.datetime64], places: Sequence[int]) -> tuple[Array, Array]:
    """Return the values (time, points) of readable instants, and their times [s since 1970]."""
    read, values, seen = time_reader(field), [], []
    for place in places:
        try:
            values.append(np.asarray(read([place]), np.float64).reshape(-1))
        except DataError:  # reported when it is needed
            continue
        seen.append(place)
    seconds = (times[seen] - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    return np.array(values).reshape(len(seen), -1 if seen else 0), np.asarray(seconds, np.float64)


def _of_field(name: str, values: Array, times: Array, *, forecast: bool) -> Begins | None:
    """Return the times at which the sums of a field restart; None for hourly sums, or if the data is inconclusive."""
    if len(times) < 2:
        return None
    most = float(np.abs(values).max(initial=0.0))
    interval = float(np.median(np.diff(times)))
    steps = np.diff(values, axis=0)
    falling = (steps < -_ROUND_OFF * most).any(axis=1)
    rises = int((steps > _ROUND_OFF * most).any(axis=1).sum())
    begins = frozenset(((times[1:][falling]) % SECONDS_PER_DAY).tolist())
    if forecast and not (name in _GROWING and falling.any()):
        return frozenset()
    beyond = most > MOST_IN_AN_HOUR[name]
    if name not in _GROWING:
        return _begins_by_size(values, times, interval) if beyond else None
    wet = values[:-1] > 1e-3 * most
    staying = float((steps[wet] == 0.0).mean()) if wet.any() else 0.0
    if (
        rises < _LEAST_RISES - (staying >= _STAYING)
        or any((each - interval) % _RUN for each in begins)
        or not _apart(begins, interval)
    ):
        return None
    return begins if falling.any() or beyond or name == "tp" else None


def _apart(begins: Begins, interval: float) -> bool:
    """Return True if at least three values are between two restarts."""
    order = sorted(begins)
    if len(order) < 2:
        return True
    gaps = np.diff([*order, order[0] + SECONDS_PER_DAY])
    return bool(gaps.min() >= _LEAST_RUN * interval)


def _begins_by_size(values: Array, times: Array, interval: float) -> Begins:
    """Return the times of the day, after 00 or 12 UTC, at which the size of a non-monotonic sum drops by half."""
    size = np.abs(values).mean(axis=1)
    drops = (size[1:] < 0.5 * size[:-1]) & ((times[1:] - interval) % _RUN == 0.0)
    return frozenset((times[1:][drops] % SECONDS_PER_DAY).tolist())


def sum_provenance(sums: "Mapping[str, Begins | Intervals]", name: str) -> str:
    """Return the accumulation period of a field, for the provenance; empty for fields that are not accumulated."""
    if name not in ACCUMULATED:
        return ""
    if name not in sums:
        return "sums of one hour"
    begins = sums[name]
    if isinstance(begins, Intervals):
        return "sums over the intervals in the files"
    since = "midnight UTC" if len(begins) == 1 else "the start of each forecast"
    return f"differences of growing sums since {since}"


@dataclass(frozen=True)
class Intervals:
    """Sums over intervals that the data states, such as those of a forecast.

    ends, starts  times of each sum, ``ends`` rising
    """

    ends: NDArray[np.datetime64]
    starts: NDArray[np.datetime64]

    @classmethod
    def of(cls, field: xr.DataArray) -> "Intervals | None":
        """Return the intervals of a field of the reader; None where they are unknown."""
        name = str(field.name)
        if f"{name}_since" not in field.coords:
            return None
        return cls(*(field[f"{name}_{part}"].values.astype("datetime64[ns]") for part in ("time", "since")))

    def hourly_amounts(self, read: Callable[[Sequence[int]], Array], when: np.datetime64) -> Array:
        """Return the amounts per hour before and after a time (2, lat, lon); one where the other is unknown.

        read  returns the sums (time, lat, lon) of some instants, by their indices
        """
        found = {
            index: None
            for side in ("left", "right")
            for index in [int(np.searchsorted(self.ends, when, side=side))]
            if index < self.ends.size and self._begin(index) <= when
        }
        if not found:
            span = " to ".join(_text(each) for each in (self._begin(0), self.ends[-1]))
            raise DataError(f"the weather has sums of rain or radiation for {span}, not for {_text(when)}; add files")
        return np.stack([self._amount(read, index) for index in found])

    def _begin(self, index: int) -> np.datetime64:
        """Return the begin of the time that one sum covers and the one before does not."""
        return np.datetime64(self.ends[index - 1] if self._continues(index) else self.starts[index])

    def _continues(self, index: int) -> bool:
        """Return whether a sum continues the one before."""
        return index > 0 and bool(self.starts[index] == self.starts[index - 1])

    def _amount(self, read: Callable[[Sequence[int]], Array], index: int) -> Array:
        hours = float((self.ends[index] - self._begin(index)) / np.timedelta64(3600, "s"))
        if self._continues(index):
            before, after = read([index - 1, index])
            return np.asarray((after - before) / hours)
        return np.asarray(read([index])[0] / hours)


def hourly_amounts(
    read: Callable[[Sequence[int]], Array], place: int, times: NDArray[np.datetime64], begins: Begins
) -> Array:
    """Return the amounts of the hours before and after an instant of growing sums (2, lat, lon); one at the ends.

    read  returns the sums (time, lat, lon) of some instants, by their indices in the data
    """
    amounts = [amount for each in (place, place + 1) if (amount := _amount(read, each, times, begins)) is not None]
    if not amounts:
        raise DataError(
            "the weather has growing sums of rain or radiation at only one instant, but their differences are needed; "
            "give at least two instants"
        )
    return np.stack(amounts)


def _amount(
    read: Callable[[Sequence[int]], Array], place: int, times: NDArray[np.datetime64], begins: Begins
) -> Array | None:
    """Return the hourly amount between the previous instant and this one, None if unknown."""
    if not 0 <= place < times.size:
        return None
    other = place if place else min(1, times.size - 1)
    if other == 0:
        return None
    seconds = float((times[other] - times[other - 1]) / np.timedelta64(1, "s"))
    of_day = float((times[place] - times[place].astype("datetime64[D]")) / np.timedelta64(1, "s"))
    if of_day in begins:
        return np.asarray(read([place])[0] * (_HOUR / seconds))
    if not place:
        return None
    before, after = read([place - 1, place])
    return np.asarray((after - before) * (_HOUR / seconds))
