"""Daily and seasonal aggregates of hourly means by the rules of air-quality law: MDA8, AOT40, daily mean and maximum.

The functions take an :class:`xarray.DataArray` along `time`, of a run (:func:`hourly_means`) or of observations, with
any other dimensions. `label` sets whether `time` is the end or the start of each hour. An hour that is absent or NaN
counts as missing. Days have a fixed offset from UTC, since the rules refer to standard time.

References
----------
- Directive 2008/50/EC, Annex VII A and B (maximum daily 8-hour mean, AOT40, required proportion of valid data)
- 40 CFR Part 50, Appendix U, section 3 (daily maximum 8-hour average of ozone in the United States)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import DataError
from airshed.core.text import duration, suggestion

if TYPE_CHECKING:
    import xarray as xr

Times = npt.NDArray[Any]
Label = Literal["end", "start"]
Rule = Literal["EU", "US"]

HOUR: Final = np.timedelta64(1, "h")
_SECOND: Final = np.timedelta64(1, "s")
_LEAST_SHARE: Final = 0.75
"""Share of the hours of a window or a day that must have a value."""


@dataclass(frozen=True)
class _Windows:
    """8-hour windows that end in a day, or start in it from hour `first`; `least` hours must be valid."""

    by: Label
    first: int
    least: int


_RULES: Final[dict[Rule, _Windows]] = {"EU": _Windows("end", 0, 18), "US": _Windows("start", 7, 13)}

_AOT40: Final = {
    "mol mol-1": (1e9, 40.0, "ppb h"), "ppb": (1.0, 40.0, "ppb h"), "nmol mol-1": (1.0, 40.0, "ppb h"),
    "ug m-3": (1.0, 80.0, "ug m-3 h"),
}  # fmt: skip
"""Unit of the values -> factor to the unit of the threshold, threshold, unit of the result."""


def hourly_means(dataset: "xr.Dataset", name: str) -> "xr.DataArray":
    """Return the hourly means of a field of a run's output, each at the end of its hour.

    Raises DataError for an unknown field, and for a field without hourly means.
    """
    if name not in dataset.data_vars:
        raise DataError(f"there is no field {name!r}; {suggestion(name, [str(each) for each in dataset.data_vars])}")
    field, bounds = dataset[name], dataset.get("time_bnds")
    if "time: mean" not in field.attrs.get("cell_methods", "") or bounds is None:
        raise DataError(f'{name} holds no means; write them with [[output]] every = "1 h", statistic = "mean"')
    begin, end = np.asarray(bounds.values).T
    if np.any(np.abs((end - begin) - HOUR) > _SECOND):
        length = duration((end - begin)[0] / _SECOND)
        raise DataError(f'{name} holds means over {length}; write hourly ones, every = "1 h"')
    return field.assign_coords(time=end)


def running_mean(values: "xr.DataArray", hours: int = 8, *, label: Label = "end") -> "xr.DataArray":
    """Return means over `hours`, each at the end of its window; NaN where less than 75 % of them have values.

    Windows may begin before the first hour, or end after the last one.
    """
    hourly = _hourly(values, label)
    around = [(hours - 1, hours - 1), *((0, 0) for _ in hourly.dims[1:])]
    padded = np.pad(hourly.values, around, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, hours, axis=0)
    ends = hourly["time"].values[0] + np.arange(len(windows)) * HOUR
    return _along("time", ends, _mean(windows, -1, _LEAST_SHARE * hours), hourly)


def mda8(values: "xr.DataArray", *, rule: Rule = "EU", utc_offset: float = 0.0, label: Label = "end") -> "xr.DataArray":
    """Return the maximum daily 8-hour mean by `day`, in the unit of the values.

    rule        "EU": of the 24 windows that end within a day (the first from 17:00 to 01:00), of which 18 must have a
                value; "US": of the 17 windows that start from 7:00 to 23:00, of which 13 must
    utc_offset  hours by which the standard time of the days is ahead of UTC
    """
    windows, rules = running_mean(values, label=label), _RULES[rule]
    local = windows["time"].values + _offset(utc_offset)
    # a window that ends at 24:00 belongs to the day of its last hour
    at = local - 8 * HOUR if rules.by == "start" else local - HOUR
    simulated = _dates(_hourly(values, label)["time"].values + _offset(utc_offset) - HOUR)
    chosen = (_hour_of_day(at) >= rules.first) & np.isin(_dates(at), simulated)
    found = _by_day(windows.isel(time=chosen), at[chosen], _maximum, rules.least)
    return found.assign_attrs(long_name=f"maximum daily 8-hour mean of {_title(values)}")


def daily_mean(values: "xr.DataArray", *, utc_offset: float = 0.0, label: Label = "end") -> "xr.DataArray":
    """Return the mean by `day`, in the unit of the values; NaN for a day with less than 18 hours."""
    hourly = _hourly(values, label)
    at = hourly["time"].values + _offset(utc_offset) - HOUR
    found = _by_day(hourly, at, lambda data: _mean(data, 0), _LEAST_SHARE * 24)
    return found.assign_attrs(long_name=f"daily mean of {_title(values)}")


def daily_maximum(values: "xr.DataArray", *, utc_offset: float = 0.0, label: Label = "end") -> "xr.DataArray":
    """Return the maximum hourly mean by `day`, in the unit of the values; NaN for a day with less than 18 hours."""
    hourly = _hourly(values, label)
    at = hourly["time"].values + _offset(utc_offset) - HOUR
    found = _by_day(hourly, at, _maximum, _LEAST_SHARE * 24)
    return found.assign_attrs(long_name=f"daily maximum of {_title(values)}")


def aot40(
    values: "xr.DataArray", *, hours: tuple[int, int] = (8, 20), utc_offset: float = 1.0, label: Label = "end",
    least: float = 0.9,
) -> "xr.DataArray":  # fmt: skip
    """Return AOT40 = sum(max(c - 40 ppb, 0) 1 h) over the daylight hours of a series [ppb h].

    Values in ug m-3 are compared with 80 ug m-3 [ug m-3 h], which the directive sets equal to 40 ppb. Where hours are
    missing, the sum is multiplied by the number of hours over the number of values.

    hours       hours of the day that count, in the standard time that is `utc_offset` hours ahead of UTC: by the
                directive 8:00 to 20:00 Central European Time
    least       share of these hours that must have a value; else the result is NaN
    Raises DataError for values of another unit.
    """
    unit = str(values.attrs.get("units", ""))
    if unit not in _AOT40:
        raise DataError(f"AOT40 needs values with the units {', '.join(_AOT40)}, not {unit!r}")
    factor, threshold, result = _AOT40[unit]
    hourly = _hourly(values, label)
    hour = _hour_of_day(hourly["time"].values + _offset(utc_offset) - HOUR)
    data = factor * hourly.values[(hour >= hours[0]) & (hour + 1.0 <= hours[1])]
    count = np.isfinite(data).sum(axis=0)
    total = np.nansum(np.maximum(data - threshold, 0.0), axis=0) * len(data) / np.maximum(count, 1)
    found = np.where(count >= max(least * len(data), 1.0), total, np.nan)
    summed = _along("time", hourly["time"].values[:1], found[None], hourly).isel(time=0, drop=True)
    summed.attrs.pop("standard_name", None)  # it names a mixing ratio or concentration
    return summed.assign_attrs(units=result, long_name=f"AOT40 of {_title(values)}")


def _hourly(values: "xr.DataArray", label: Label) -> "xr.DataArray":
    """Return the values at the ends of all hours from the first to the last, time first, NaN where one is missing."""
    times = values["time"].values
    if not times.size or times.dtype.kind != "M":
        raise DataError(f"{_title(values)} has no times; give hourly means along time, as dates")
    ends = times + HOUR if label == "start" else times
    number = np.round((ends - ends.min()) / HOUR).astype(int)
    is_first = np.zeros(number.size, bool)
    is_first[np.unique(number, return_index=True)[1]] = True
    strange = ~is_first | (np.abs(ends - ends.min() - number * HOUR) > _SECOND)
    if strange.any():
        at = np.datetime_as_string(times[np.argmax(strange)], unit="s")
        raise DataError(f"{_title(values)} does not hold hourly means: the time {at} is within an hour of another one")
    first = values.transpose("time", ...)
    data = np.full((number.max() + 1, *first.shape[1:]), np.nan)
    data[number] = first.values
    return _along("time", ends.min() + np.arange(len(data)) * HOUR, data, first)


def _along(dim: str, at: Times, data: Array, like: "xr.DataArray") -> "xr.DataArray":
    """Return data along a first dimension, with the other dimensions, the name and the attributes of an array."""
    import xarray as xr

    others = {name: each for name, each in like.coords.items() if "time" not in each.dims and name != "time"}
    attributes = {key: text for key, text in like.attrs.items() if key != "cell_methods"}
    return xr.DataArray(data, {**others, dim: at}, (dim, *like.dims[1:]), like.name, attributes)


def _by_day(values: "xr.DataArray", at: Times, reduce: Callable[[Array], Array], least: float) -> "xr.DataArray":
    """Return a value for each day in local time, NaN where there are fewer than `least` valid values."""
    dates = _dates(at)
    days = np.unique(dates)
    parts = [values.values[dates == day] for day in days]
    found = [np.where(np.isfinite(part).sum(axis=0) >= least, reduce(part), np.nan) for part in parts]
    data = np.array(found) if found else np.empty((0, *values.shape[1:]))
    return _along("day", days.astype("datetime64[ns]"), data, values)


def _mean(data: Array, axis: int, least: float = 1.0) -> Array:
    """Return the means of valid values; NaN where there are fewer than `least`."""
    there = np.isfinite(data)
    count = there.sum(axis=axis)
    mean = np.where(there, data, 0.0).sum(axis=axis) / np.maximum(count, 1)
    return np.where(count >= least, mean, np.nan)


def _maximum(data: Array) -> Array:
    found: Array = np.where(np.isfinite(data), data, -np.inf).max(axis=0)
    return found


def _dates(at: Times) -> Times:
    return at.astype("datetime64[D]")


def _hour_of_day(at: Times) -> Array:
    found: Array = (at - _dates(at)) / HOUR
    return found


def _offset(hours: float) -> np.timedelta64:
    return np.timedelta64(round(hours * 3600.0), "s")


def _title(values: "xr.DataArray") -> str:
    return str(values.attrs.get("long_name") or values.name or "the series")
