"""Layouts of ERA5 files that other programs make: which variables count, and which moments their values belong to."""

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airshed.core.data import conversion
from airshed.core.errors import DataError
from airshed.io.era5_fields import coordinate_text
from airshed.io.era5_names import NAME_OF_ALIAS, dimension, stem

ON_LEVELS = ("u", "v", "t", "q", "z", "cc", "clwc")
NO_UNITS = frozenset({"", "1", "~", "level", "levels", "count", "numeric", "model_level_number"})
"""The unit of level numbers."""
_STATIC = frozenset({"lsm", "land_sea_mask", "var172", "z", "geopotential", "var129"})
"""Fields that may hold at all times."""
_CALENDARS = frozenset({"standard", "gregorian", "proleptic_gregorian"})


def by_name(path: Path, dataset: xr.Dataset, unused: set[str]) -> dict[str, list[str]]:
    """Return the variable of the file for each field of the reader; others go to ``unused``.

    CDO numbers variables of one name that lie on different kinds of levels, u, u_2 ...: the one with the most
    pressure levels, or model levels, counts.
    """
    candidates: dict[str, list[str]] = {}
    for original in map(str, dataset.data_vars):
        name = NAME_OF_ALIAS.get(original) or NAME_OF_ALIAS.get(stem(original))
        if name is not None:
            candidates.setdefault(name, []).append(original)
        elif dataset[original].ndim > 1:
            unused.add(original)
    numbered = any(each not in NAME_OF_ALIAS for originals in candidates.values() for each in originals)
    for name, originals in candidates.items():
        plain = [original for original in originals if original in NAME_OF_ALIAS]
        if len(plain) > 1:
            twice = " and ".join(plain[:2])
            raise DataError(f"{path}: variables {twice} are the same field of ERA5; take one of them out")
        if len(originals) > 1:
            best = max(originals, key=lambda each: _levels_of(dataset[each])) if name in ON_LEVELS else originals[0]
            unused.update(each for each in originals if each != best)
            candidates[name] = [best]
    if numbered:  # a field at one height or of one layer is no profile
        single = [name for name in set(ON_LEVELS) - {"z"} if name in candidates]
        for name in [name for name in single if _levels_of(dataset[candidates[name][0]])[1] < 2]:
            unused.update(candidates.pop(name))
    return candidates


def _levels_of(field: xr.DataArray) -> tuple[bool, int]:
    """Return whether a field lies on pressure levels, and on how many levels of any kind."""
    levels = [dim for dim in field.dims if dimension(str(dim)) == "level"]
    if not levels:
        return False, 0
    unit = str(field[levels[0]].attrs.get("units", "")).strip() if levels[0] in field.coords else ""
    return unit.lower() not in NO_UNITS, field.sizes[levels[0]]


def take_moments(
    path: Path, original: str, field: xr.DataArray, names: dict[str, str], coordinates: dict[str, NDArray[Any]]
) -> dict[str, str]:
    """Check the times of a field, and put them in place: of steps of a forecast, and of a file of one instant.

    Returns the axis of an instant that has no dimension in the file, by an empty name.
    """
    if names.get("time") == "step":
        times = _valid_times(path, original, field)
        coordinates["time"] = times.values
        _check_times(path, times)
    elif "time" in names:
        _check_times(path, field[names["time"]])
    elif original not in _STATIC or "level" in names:
        one = next((field[key] for key in ("valid_time", "time") if key in field.coords and field[key].ndim == 0), None)
        if one is not None and one.dtype.kind == "M" and not np.isnat(one.values):
            coordinates["time"] = np.atleast_1d(one.values)
            return {"time": ""}
    return {}


def _valid_times(path: Path, original: str, field: xr.DataArray) -> xr.DataArray:
    """Return the moments of the steps of a forecast: valid_time along them, or the start and the steps."""
    valid = field.coords.get("valid_time")
    if valid is not None and valid.dims == ("step",):
        return xr.DataArray(valid)
    start, step = field.coords.get("time"), field.coords.get("step")
    if start is None or start.ndim or start.dtype.kind != "M" or step is None:
        raise DataError(
            f"{path}: variable {original} has the dimension step, but no valid_time along it, nor a time at which the "
            "forecast starts; export the file with one of them"
        )
    lengths = step.values
    if lengths.dtype.kind != "m":
        seconds = conversion(step.attrs, "s", f"{path}: {original}: its step")
        factor = 3600.0 if seconds.missing else seconds.factor
        lengths = np.round(1e9 * factor * lengths.astype(np.float64)).astype("timedelta64[ns]")
    return xr.DataArray(start.values + lengths, dims="step")


def _check_times(path: Path, times: xr.DataArray) -> None:
    """Raise DataError unless all times are moments of the calendar of every day, each of them once."""
    values, calendar = times.values, str(times.encoding.get("calendar") or times.attrs.get("calendar") or "standard")
    if values.dtype.kind != "M":
        also = f" in the calendar {calendar!r}" if calendar not in _CALENDARS else ""
        unit = str(times.encoding.get("units") or times.attrs.get("units") or "none")[:60]
        raise DataError(
            f"{path}: its times (units {unit!r}{also}) are no moments in UTC of the years 1678 to 2262; give such as "
            "'hours since 1900-01-01' in the standard calendar"
        )
    if np.isnat(values).any():
        raise DataError(f"{path}: {int(np.isnat(values).sum())} of its times are missing (NaT); every field needs one")
    if np.unique(values).size < values.size:
        ordered = np.sort(values)
        twice = ordered[1:][np.diff(ordered) == np.timedelta64(0)][0]
        raise DataError(f"{path}: it has the time {coordinate_text(twice)} more than once; take the double one out")
