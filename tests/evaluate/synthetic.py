"""A small run whose ozone is linear in time and space, and observations of it, as files."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import xarray as xr

START = np.datetime64("2022-08-31T00:00:00", "ns")
LON, LAT = np.arange(5.5, 10.0), np.arange(50.5, 54.0)
OZONE, NITROGEN_DIOXIDE = 47.998e-3, 46.0055e-3
AIR = 101.3e3 / (8.31446261815324 * 293.0)
"""Air at 293 K and 101.3 kPa [mol/m3], by hand."""

Field = Callable[..., np.ndarray]


def ozone(hours: np.ndarray, lon: np.ndarray, lat: np.ndarray) -> np.ndarray:
    """Return a mixing ratio [mol/mol] that is linear in time, longitude and latitude."""
    return np.asarray(1e-9 * (20.0 + 1.5 * hours + 2.0 * (lon - 7.0) - 1.0 * (lat - 52.0)))


def write_run(
    path: Path,
    *,
    hours: int = 24,
    every: float = 1.0,
    field: Field = ozone,
    means: bool = False,
    more: Sequence[str] = (),
    ground: float | None = None,
) -> Path:
    """Write an output file of instants, or of means, with two layers."""
    times = np.arange(0.0, hours + 1e-9, every)
    bounds = np.stack([times[:-1], times[1:]], axis=1)
    at = bounds.mean(axis=1) if means else times  # the mean of a linear field is its value in the middle
    values = field(at[:, None, None], LON[None, None, :], LAT[None, :, None]) * np.ones((at.size, LAT.size, LON.size))
    stamps = START + (3.6e12 * (bounds[:, 1] if means else times)).astype("timedelta64[ns]")
    about = {"units": "mol mol-1", "cell_methods": f"time: {'mean' if means else 'point'}"}
    dims = ("time", "level", "lat", "lon")
    stacked = np.stack([values, 10.0 * values], axis=1)
    masses = {"O3": OZONE, "NO2": NITROGEN_DIOXIDE, "NO": 30.0061e-3}
    dataset = xr.Dataset(
        {
            **{name: (dims, stacked, {**about, "molar_mass": masses[name]}) for name in ("O3", *more)},
            "level_bnds": (("level", "bnds"), np.array([[0.0, 20.0], [20.0, 50.0]])),
        },
        {
            "time": ("time", stamps),
            "level": ("level", np.array([10.0, 35.0]), {"units": "m", "bounds": "level_bnds"}),
            "lat": ("lat", LAT, {"units": "degrees_north"}), "lon": ("lon", LON, {"units": "degrees_east"}),
        },
        {"title": "A synthetic run", "airshed_run": "complete"},
    )  # fmt: skip
    encoding = {"time": {"units": "seconds since 2022-08-31", "dtype": "f8"}}
    if ground is not None:
        dataset["surface_altitude"] = (("lat", "lon"), np.full((LAT.size, LON.size), ground), {"units": "m"})
    if means:
        dataset["time"].attrs["bounds"] = "time_bnds"
        dataset["time_bnds"] = (("time", "bnds"), START + (3.6e12 * bounds).astype("timedelta64[ns]"))
    dataset.to_netcdf(path, encoding=encoding)
    return path


def write_observations(path: Path, rows: Sequence[tuple[str, float, float, str, float, str, float]]) -> Path:
    """Write rows of (station, lon, lat, species, value, unit, hour at the end of the interval of an hour)."""
    lines = ["station,lon,lat,species,value,unit,time"]
    for station, lon, lat, species, value, unit, hour in rows:
        time = str((START + np.timedelta64(round(3600 * hour), "s")).astype("datetime64[s]"))
        lines.append(f"{station},{lon},{lat},{species},{value!r},{unit},{time}Z")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def hourly(station: str, lon: float, lat: float, *, bias: float = 0.0, shift: float = 0.0) -> list[tuple]:
    """Return a day of hourly ozone [ug/m3] as the run has it, less a bias of the run."""
    size = OZONE * AIR * 1e9
    return [
        (station, lon, lat, "O3", float(size * ozone(np.float64(hour - 0.5), lon, lat)) - bias, "ug/m3", hour + shift)
        for hour in range(1, 25)
    ]
