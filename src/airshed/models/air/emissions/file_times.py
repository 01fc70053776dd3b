"""Times of files of gridded emission: CF times, months and years as numbers, WRF and I/O API times."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import DataError
from airshed.core.text import listed
from airshed.io.model_output import ioapi_times
from airshed.models.air.emissions.periods import Dates
from airshed.models.air.emissions.source_grid import text

if TYPE_CHECKING:
    import xarray as xr

_DIMS: Final = ("time", "tstep", "month", "date", "t", "valid_time", "year", "months", "times")
_TEXTS: Final = ("Times", "xtime")
_SINCE: Final = re.compile(
    r"\s*(months?|years?|common_years?)\s+since\s+(\d{1,4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?", re.IGNORECASE
)
_DIGITS: Final = {4: "%Y", 6: "%Y%m", 8: "%Y%m%d", 10: "%Y%m%d%H"}
_ANY_YEAR: Final = 2001
"""Year of months that have numbers but no year; the fields are then for any year."""


@dataclass(frozen=True, eq=False)
class FileTimes:
    """Times of a file: the dimension, "" if there is none, the dates, and the dataset of dates and bounds.

    dataset   with the coordinate ``time`` and its bounds, for :func:`read_periods`
    any_year  whether the months have no year
    """

    dim: str
    dataset: "xr.Dataset"
    any_year: bool = False


def read_times(dataset: "xr.Dataset", where: str, year: int | None) -> FileTimes:
    """Return the times of a file; ``year`` is the year of months without one. Raises DataError for other times."""
    import xarray as xr

    dim = next((str(name) for name in dataset.sizes if str(name).casefold() in _DIMS), "")
    if not dim:
        return FileTimes("", xr.Dataset())
    name = next((each for each in (*_TEXTS, "TFLAG", dim) if each in dataset.variables), "")
    if not name:
        raise DataError(f"{where}: its dimension {dim} has no values; give dates, such as hours since 2022-08-31")
    variable = dataset[name]
    if name in _TEXTS:
        dates = _of_texts(variable.values, f"{where}: {name}")
    elif name == "TFLAG":
        dates = ioapi_times(variable.values[:, 0])
    elif variable.dtype.kind in "Mm" or variable.dtype.kind not in "fiuO":
        return FileTimes(dim, _renamed(dataset, dim))
    elif " since " in str(variable.attrs.get("units", "")) and not _SINCE.match(str(variable.attrs["units"])):
        return FileTimes(dim, _decoded(dataset, dim, where))
    else:
        numbers, found = _of_numbers(variable, dim, where, year)
        return FileTimes(dim, xr.Dataset(coords={"time": _nanoseconds(numbers)}), any_year=not found)
    return FileTimes(dim, xr.Dataset(coords={"time": _nanoseconds(dates)}))


def _renamed(dataset: "xr.Dataset", dim: str) -> "xr.Dataset":
    """Return the times and the variables of their bounds, with the dimension ``time``."""
    names = [name for name, each in dataset.variables.items() if each.dims[:1] == (dim,) and each.ndim <= 2]
    bounds = [name for name in names if name == dim or _is_bounds(dataset, dim, str(name))]
    part = dataset[bounds]
    part = part.drop_vars([name for name in part.coords if name != dim and name not in bounds])
    return part if dim == "time" else part.rename({dim: "time"})


def _is_bounds(dataset: "xr.Dataset", dim: str, name: str) -> bool:
    time = dataset[dim]
    named = {str(time.attrs.get(key) or time.encoding.get(key)) for key in ("bounds", "climatology")}
    return name in {*named, "time_bnds", "time_bounds", "climatology_bounds"}


def _decoded(dataset: "xr.Dataset", dim: str, where: str) -> "xr.Dataset":
    """Return the times and bounds of CF numbers as dates of the usual calendar."""
    import xarray as xr

    part = _renamed(dataset, dim)
    attributes = part["time"].attrs
    for name in part.data_vars:  # bounds without units have those of their times
        if "units" not in part[name].attrs:
            part[name].attrs.update({key: attributes[key] for key in ("units", "calendar") if key in attributes})
    try:
        decoded = xr.decode_cf(part, decode_timedelta=False)
    except (ValueError, OverflowError):
        raise DataError(
            f"{where}: its times are {attributes['units']!r}, which are not dates; give hours since 2022-08-31"
        ) from None
    for name, variable in decoded.variables.items():
        if variable.dtype.kind == "O":  # another calendar
            plain = np.array([str(each)[:19].replace(" ", "T") for each in np.ravel(variable.values)], "datetime64[ns]")
            replaced = (variable.dims, plain.reshape(variable.shape), variable.attrs)
            decoded = (
                decoded.assign_coords({name: replaced}) if name in decoded.coords else decoded.assign({name: replaced})
            )
    return decoded


def _of_numbers(variable: "xr.DataArray", dim: str, where: str, year: int | None) -> tuple[Dates, bool]:
    """Return dates of months or years since a date, of numbers such as 202207, or of the months 1 to 12."""
    values = np.asarray(variable.values, np.float64)
    units = str(variable.attrs.get("units", ""))
    since = _SINCE.match(units)
    whole = bool(np.all(np.isfinite(values)))
    if since and whole:
        step = 1 if since[1].casefold().startswith("month") else 12
        first = 12 * (int(since[2]) - 1970) + int(since[3] or 1) - 1
        months = np.floor(first + step * values + 1e-6).astype(int)
        return months.astype("datetime64[M]"), True
    digits = len(str(int(values.flat[0]))) if values.size and whole else 0
    if digits in _DIGITS and values.min() > 1800 and whole:
        texts = [str(int(each)) for each in values]
        parts = [f"{each[:4]}-{each[4:6] or '01'}-{each[6:8] or '01'}T{each[8:10] or '00'}" for each in texts]
        unit = {4: "Y", 6: "M", 8: "D", 10: "h"}[digits]
        try:
            return np.array(
                [each[: {"Y": 4, "M": 7, "D": 10, "h": 13}[unit]] for each in parts], f"datetime64[{unit}]"
            ), True
        except ValueError:
            pass
    elif whole and values.size == 12 and np.array_equal(values - values[0], np.arange(12)) and values[0] in (0.0, 1.0):
        first = 12 * ((year or _ANY_YEAR) - 1970)
        return (first + np.arange(12)).astype("datetime64[M]"), year is not None
    values_in_text = listed([f"{each:g}" for each in values.tolist()], 4)
    raise DataError(
        f"{where}: its times must be dates in rising order, such as hours since 2022-08-31; {dim} is {values_in_text}"
        + (f" [{units}]" if units else "")
    )


def _of_texts(values: NDArray[Any], where: str) -> Dates:
    """Return the dates of texts such as 2011-08-02_00:00:00."""
    rows = values if values.ndim == 1 else np.array([b"".join(map(_bytes, row)) for row in values])
    try:
        return np.array([text(each)[:19].replace("_", "T") for each in rows], "datetime64[s]")
    except ValueError:
        raise DataError(f"{where} is {text(rows[0])[:40]!r}, not a time such as 2005-08-28_12:00:00") from None


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _nanoseconds(dates: Dates) -> tuple[str, Dates]:
    return "time", dates.astype("datetime64[ns]")
