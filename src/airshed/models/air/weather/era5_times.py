"""Times of ERA5 data: the instants that a case uses, and sums of rain, evaporation and radiation over hours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import DataError
from airshed.io.era5_fields import time_reader

_SECOND = np.timedelta64(1, "s")


@dataclass(frozen=True)
class ForcingTimes:
    """The instants of a forcing and the data's index of each.

    times   [s since the case's start], rising, the first at or before the start
    source  index into the data of each instant
    held    whether the last instant repeats the data's last one
    """

    times: tuple[float, ...]
    source: tuple[int, ...]
    held: bool
    is_hourly: bool

    @classmethod
    def of(cls, data_times: NDArray[np.datetime64], start: np.datetime64, length: float | None) -> "ForcingTimes":
        """Return the instants between which the period from ``start`` over ``length`` [s] lies; None: all later ones.

        Where the data ends within one interval before the period does, its last instant is held for that interval.
        raises  DataError where the data does not cover the period, or has a gap in it
        """
        seconds = (data_times.astype("datetime64[ns]") - start.astype("datetime64[ns]")) / _SECOND
        steps = np.diff(seconds)
        interval = float(np.median(steps)) if steps.size else 3600.0
        end = float(max(seconds[-1], 0.0) + interval) if length is None else float(length)
        if seconds[0] > 0.0 or seconds[-1] + interval < max(end, 0.0):
            raise DataError(
                f"the data covers {_text(data_times[0])} to {_text(data_times[-1])} UTC, the case asks for "
                f"{_text(start)} to {_text(start + np.timedelta64(round(end), 's'))}; change [time] or add data"
            )
        first = int(np.searchsorted(seconds, 0.0, side="right")) - 1
        last = min(int(np.searchsorted(seconds, end)), seconds.size - 1)
        wide = np.flatnonzero(steps[first:last] > 1.5 * interval)
        if wide.size:
            gap = first + int(wide[0])
            raise DataError(
                f"the data has nothing between {_text(data_times[gap])} and {_text(data_times[gap + 1])} UTC, "
                f"though its interval is {interval / 3600.0:g} h; add the missing times"
            )
        times = [float(value) for value in seconds[first : last + 1]]
        source = list(range(first, last + 1))
        held = times[-1] < end
        if held:
            times.append(times[-1] + interval)
            source.append(last)
        return cls(tuple(times), tuple(source), held, interval == 3600.0)


def _text(when: np.datetime64) -> str:
    """Return a time to the minute."""
    return str(when.astype("datetime64[m]"))


Begins = frozenset[float]
"""Times of the day [s] of the first value after a sum begins again; none where it grows from a forecast's start on."""

ACCUMULATED: Final = ("tp", "e", "ssrd", "sshf")

MOST_IN_AN_HOUR: Final = {"tp": np.inf, "e": 1.6e-3, "ssrd": 5.0e6, "sshf": 4.0e6}
"""More than an hour can bring, in ERA5's units: 5 MJ m-2 is more than the sun above the air."""

_GROWING: Final = ("tp", "ssrd")
"""Those that never fall as they are summed."""

_BEFORE, _AFTER = 24, 49
"""Instants before and after the start of the case that are looked at."""

_LEAST_RISES: Final = 4
"""Rain of one hour rises in three intervals where it begins; where sums stay as they are elsewhere, three will do."""
_STAYING: Final = 0.2
_LEAST_RUN: Final = 3
_ROUND_OFF: Final = 1e-4
_HOUR: Final = 3600.0
_RUN: Final = 6.0 * _HOUR
"""Sums begin at 00, 06, 12 or 18 UTC."""


def growing_sums(around: xr.Dataset, first: int) -> dict[str, Begins]:
    """Return which accumulated fields of ERA5 data hold growing sums, and when these begin again.

    first  place in time of the first instant that the case needs
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
    """Return the values (time, points) of instants that can be read, and their times [s of 1970]."""
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
    """Return when the sums of a field begin again, or None where they are of one hour, or the data does not show it."""
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
    """Whether at least three values lie between two beginnings."""
    order = sorted(begins)
    if len(order) < 2:
        return True
    gaps = np.diff([*order, order[0] + SECONDS_PER_DAY])
    return bool(gaps.min() >= _LEAST_RUN * interval)


def _begins_by_size(values: Array, times: Array, interval: float) -> Begins:
    """Return at which times of the day the size of a sum that may rise and fall drops by half, after 00 or 12 UTC."""
    size = np.abs(values).mean(axis=1)
    drops = (size[1:] < 0.5 * size[:-1]) & ((times[1:] - interval) % _RUN == 0.0)
    return frozenset((times[1:][drops] % SECONDS_PER_DAY).tolist())


def sum_provenance(sums: Mapping[str, Begins], name: str) -> str:
    """Return over what the sums of a field are, for the provenance; empty for a field that is no sum."""
    if name not in ACCUMULATED:
        return ""
    if name not in sums:
        return "sums of one hour"
    since = "midnight UTC" if len(sums[name]) == 1 else "the start of each forecast"
    return f"growing sums, since {since}, of which the differences are taken"


def hourly_amounts(
    read: Callable[[Sequence[int]], Array], place: int, times: NDArray[np.datetime64], begins: Begins
) -> Array:
    """Return what an hour brings before and after an instant of growing sums (2, lat, lon); at an end of the data once.

    read  returns the sums (time, lat, lon) of some instants, by their places in the data
    """
    amounts = [amount for each in (place, place + 1) if (amount := _amount(read, each, times, begins)) is not None]
    if not amounts:
        raise DataError(
            "the weather holds growing sums of rain or radiation, of one instant alone: their differences are needed; "
            "give two instants at least"
        )
    return np.stack(amounts)


def _amount(
    read: Callable[[Sequence[int]], Array], place: int, times: NDArray[np.datetime64], begins: Begins
) -> Array | None:
    """Return what an hour brings between an instant and the one before it, None where that is not known."""
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
