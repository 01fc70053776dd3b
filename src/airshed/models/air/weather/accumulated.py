"""Sums of rain, evaporation and radiation: over the hour before each time, or growing since midnight or a start.

ERA5 has sums of one hour. ERA5-Land sums since 00 UTC, forecasts since their start. Files seldom say which they hold,
so that the data decides: a sum that grows never falls but where it begins again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import DataError
from airshed.io.era5_fields import at_times

Array = NDArray[np.float64]
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
    read, values, seen = at_times(field), [], []
    for place in places:
        try:
            values.append(np.asarray(read([place]), np.float64).reshape(-1))
        except DataError:  # told when it is needed
            continue
        seen.append(place)
    seconds = (times[seen] - np.datetime64(0, "s")) / np.timedelta64(1, "s")
    return np.array(values).reshape(len(seen), -1 if seen else 0), np.asarray(seconds, np.float64)


def _of_field(name: str, values: Array, times: Array, *, forecast: bool) -> Begins | None:
    """Return when the sums of a field begin again, or None where they are of one hour, or nothing tells."""
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
