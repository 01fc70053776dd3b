"""Columns of reanalyses with temperature, boundary-layer height, fluxes or cloud, in a common form."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airshed.core.constants import GAS_CONSTANT_DRY_AIR, HEAT_CAPACITY_DRY_AIR

Array = NDArray[np.float64]

LEVELS = (
    np.array([1000, 975, 950, 925, 900, 875, 850, 825, 800, 775, 750, 700, 650, 600, 550, 500, 400, 300, 200]) * 1e2
)
"""Pressure levels of the case west-europe-winter [Pa]."""


@dataclass
class Column:
    """A column through the hours of a reanalysis; arrays are (time,) or (time, level)."""

    name: str
    lon: float
    lat: float
    time: NDArray[np.datetime64]
    surface_pressure: Array
    """[Pa]"""
    east: Array
    north: Array
    """[m/s] on LEVELS"""
    humidity: Array | None
    """[kg/kg] on LEVELS"""
    temperature: Array
    """[K] on LEVELS"""
    reference: dict[str, Array]
    """Diagnosed quantity -> its value in the reanalysis, by hour"""
    evaporation: Array | None = None
    """[kg m-2 s-1]"""
    wind_10m: tuple[Array, Array] | None = None


def cabauw(folder: Path) -> Column:
    """Return the column of Cabauw, 15 August 2016: ERA5 as prepared by LS2D for MicroHH.

    The data begin at 6 UTC. The model needs the hours before for the nocturnal heat loss; they have the state of 6 UTC,
    and no reference.
    """
    data = xr.open_dataset(folder / "ls2d_20160815.nc", decode_times=False)
    radiation = xr.open_dataset(folder / "era_rad_20160815.nc", decode_times=False)
    pressure = data["p"].to_numpy()
    theta = data["thl"].to_numpy()
    temperature = theta * (pressure / 1e5) ** (GAS_CONSTANT_DRY_AIR / HEAT_CAPACITY_DRY_AIR)
    height, flux = data["z"].to_numpy(), data["wth"].to_numpy()
    density = data["ps"].to_numpy() / (GAS_CONSTANT_DRY_AIR * temperature[:, 0])
    day = Column(
        "Cabauw, 15 August 2016 (ERA5)",
        4.93,
        51.97,
        np.datetime64("2016-08-15T00", "ns") + np.arange(19) * np.timedelta64(1, "h"),
        data["ps"].to_numpy().astype(float),
        _onto_levels(pressure, data["u"].to_numpy()),
        _onto_levels(pressure, data["v"].to_numpy()),
        _onto_levels(pressure, data["qt"].to_numpy()),
        _onto_levels(pressure, temperature),
        {
            "boundary-layer height [m]": parcel_height(theta, height, flux),
            "sensible heat flux [W/m2]": flux * density * HEAT_CAPACITY_DRY_AIR,
            "solar radiation [W/m2]": radiation["ssrd"].to_numpy()[6:19] / 3600.0,
        },
        data["wq"].to_numpy() * density,
        (
            np.array([np.interp(10.0, height, row) for row in data["u"].to_numpy()]),
            np.array([np.interp(10.0, height, row) for row in data["v"].to_numpy()]),
        ),
    )
    return _with_night(day, 6)


def southern_england(folder: Path) -> Column:
    """Return the column at 52 N, 0 E of MERRA-2, 2 January 2016, as prepared for GEOS-Chem."""
    place = {"lat": 1, "lon": 1}
    hourly = xr.open_dataset(folder / "MERRA2.20160102.A1.2x25.nc3", decode_times=False).isel(place)
    state = xr.open_dataset(folder / "MERRA2.20160102.I3.2x25.nc3", decode_times=False).isel(place)
    motion = xr.open_dataset(folder / "MERRA2.20160102.A3dyn.2x25.nc3", decode_times=False).isel(place)
    coefficients = xr.open_dataset(folder / "GEOSFP.ApBp.nc")
    surface = state["PS"].to_numpy().astype(float)
    pressure = _middles(coefficients, surface, state["T"].shape[1])
    three_hourly = [np.arange(0, 24, 3)] * 4
    fields = (motion["U"].to_numpy(), motion["V"].to_numpy(), state["QV"].to_numpy(), state["T"].to_numpy())
    on_levels = [_onto_levels(pressure, values) for values in fields]
    hours = np.arange(24)
    east, north, humidity, temperature = (
        np.array([np.interp(hours, when, level) for level in values.T]).T
        for when, values in zip(three_hourly, on_levels, strict=True)
    )
    names = {
        "boundary-layer height [m]": "PBLH", "sensible heat flux [W/m2]": "HFLUX", "friction velocity [m/s]": "USTAR",
        "cloud cover": "CLDTOT", "solar radiation [W/m2]": "SWGDN", "temperature at the ground [K]": "T2M",
    }  # fmt: skip
    return Column(
        "southern England, 2 January 2016 (MERRA-2)",
        0.0,
        52.0,
        np.datetime64("2016-01-02T00", "ns") + hours * np.timedelta64(1, "h"),
        np.interp(hours, three_hourly[0], surface),
        east,
        north,
        humidity,
        temperature,
        {text: hourly[name].to_numpy().astype(float) for text, name in names.items()},
        hourly["EVAP"].to_numpy().astype(float),
        (hourly["U10M"].to_numpy().astype(float), hourly["V10M"].to_numpy().astype(float)),
    )


def _with_night(day: Column, hours: int) -> Column:
    """Return a column preceded by `hours` hours with its first state, without evaporation and reference."""

    def held(values: Array) -> Array:
        return np.concatenate([np.repeat(values[:1], hours, axis=0), values])

    assert day.humidity is not None
    assert day.evaporation is not None
    assert day.wind_10m is not None
    return replace(
        day,
        surface_pressure=held(day.surface_pressure),
        east=held(day.east),
        north=held(day.north),
        humidity=held(day.humidity),
        temperature=np.concatenate([np.full((hours, LEVELS.size), np.nan), day.temperature]),
        reference={name: np.concatenate([np.full(hours, np.nan), values]) for name, values in day.reference.items()},
        evaporation=np.concatenate([np.zeros(hours), day.evaporation]),
        wind_10m=(held(day.wind_10m[0]), held(day.wind_10m[1])),
    )


def parcel_height(theta: Array, height: Array, flux: Array) -> Array:
    """Return the height [m] at which air from 10 m, 0.5 K warmer while the ground heats it, loses its buoyancy."""
    start = np.array([np.interp(10.0, height, row) for row in theta]) + np.where(flux > 0.0, 0.5, 0.0)
    return np.array([height[np.argmax(row > first)] for row, first in zip(theta, start, strict=True)])


def _onto_levels(pressure: Array, values: Array) -> Array:
    """Return values at LEVELS, linear in ln p, from the ground up; below the ground the lowest value."""
    pairs = zip(np.log(pressure), values, strict=True)
    return np.array([np.interp(np.log(LEVELS), logs[::-1], row[::-1]) for logs, row in pairs])


def _middles(coefficients: xr.Dataset, surface: Array, layers: int) -> Array:
    """Return the pressure [Pa] at the middles of the hybrid layers, (time, layer), from the ground up."""
    half = [coefficients[name].to_numpy().astype(float) for name in ("ap", "bp")]
    faces = half[0][None, : layers + 1] * 100.0 + half[1][None, : layers + 1] * surface[:, None]
    return 0.5 * (faces[:, 1:] + faces[:, :-1])
