"""Layout of the station netCDF files of MELODIES-MONET: (time, y, x) or (time, x), x along the stations."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import DataError
from airshed.io.netcdf import load_netcdf
from airshed.observations.layouts.layout import HOUR, FileOptions, Layout, Record, TableRows
from airshed.observations.parameters import is_pollutant, parameter_of, unit_in
from airshed.observations.station import Station
from airshed.observations.time_convention import TimeConvention

if TYPE_CHECKING:
    import xarray as xr

_DAY: Final = np.timedelta64(1, "D")


def _stations(data: "xr.Dataset", rows: TableRows) -> list[Station]:
    """Return the stations along x; raises DataError for a file that has none."""
    missing = [name for name in ("time", "siteid", "latitude", "longitude") if name not in data.variables]
    if missing or "x" not in data.dims:
        raise DataError(
            f"{rows.file.path} is not a netCDF file of stations: it lacks {', '.join(missing or ['x'])} "
            "(docs/reference/observations.md)"
        )
    if data["time"].dtype.kind != "M":
        raise DataError(f"{rows.file.path}: its time needs units such as 'seconds since 2022-08-31'")
    ids, lons, lats = (_along_x(data, name) for name in ("siteid", "longitude", "latitude"))
    names = _along_x(data, "site") if "site" in data.variables else [""] * len(ids)
    heights = _along_x(data, "elevation") if "elevation" in data.variables else [math.nan] * len(ids)
    columns = zip(map(_text, ids), map(_text, names), lons, lats, heights, strict=True)
    return [Station(name, site, float(lon), float(lat), float(height)) for name, site, lon, lat, height in columns]


def _along_x(data: "xr.Dataset", name: str) -> list[Any]:
    """Return the values of a variable along x, at the first place of its other dimensions."""
    found = data[name].isel({dim: 0 for dim in data[name].dims if dim != "x"})
    return list(np.broadcast_to(found.to_numpy(), data.sizes["x"]).tolist())


def _text(value: object) -> str:
    return (value.decode(errors="replace") if isinstance(value, bytes) else str(value)).strip()


def _within(times: npt.NDArray[Any], rows: TableRows) -> list[int]:
    """Return the numbers of the times that may lie in the window."""
    low, high = (np.datetime64(moment) for moment in rows.window)
    return [int(at) for at in np.flatnonzero((times >= low - _DAY) & (times <= high + _DAY))]


def _read(rows: TableRows, options: FileOptions) -> Iterator[Record]:
    data = load_netcdf(rows.file.path)
    stations, times = _stations(data, rows), data["time"].to_numpy()
    steps = np.diff(times) / np.timedelta64(1, "s")
    period = float(steps.min()) if steps.size and steps.min() > 0.0 else HOUR
    within = _within(times, rows)
    for name, variable in data.data_vars.items():
        if not is_pollutant(str(name)) or {"time", "x"} - set(variable.dims):
            continue
        parameter = parameter_of(str(name))
        unit = unit_in(str(variable.attrs.get("units", ""))) or options.unit(parameter)
        numbers = variable.transpose("time", "x", ...).to_numpy().reshape(times.size, len(stations), -1)[:, :, 0]
        if times.size > len(within):
            rows.skipped.append((0, (times.size - len(within)) * len(stations)))
        for at in within:
            label = str(times[at].astype("datetime64[s]"))
            for station, value in zip(stations, numbers[at].tolist(), strict=True):
                yield Record(at, station.id, parameter, f"{value:.9g}", unit, label, period=period, place=station)


MONET: Final = Layout(
    "MELODIES-MONET", lambda file: file.is_netcdf, _read, TimeConvention("UTC", "start"), HOUR,
    columns="netCDF with dimensions `time`, `x` (and `y`), variables `siteid`, `latitude`, `longitude` and one for "
    "each pollutant",
    source="the files of AirNow and AQS that MELODIES-MONET writes: UTC, start of the hour",
    units="the attribute `units`", infers_period=True,
)  # fmt: skip
