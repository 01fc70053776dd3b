"""Small files with the layouts of other models, whose ozone is a function of pressure."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import xarray as xr

from airshed.core.arrays import Array
from airshed.core.constants import MOLAR_MASS_DRY_AIR
from airshed.io.model_levels import half_levels

Profile: TypeAlias = Callable[[Array], Array]
TIMES = np.arange("2022-08-31T00", "2022-09-01T01", 6, dtype="datetime64[h]").astype("datetime64[ns]")
OZONE, CARBON_MONOXIDE = 47.998e-3, 28.010e-3
PLACES = {
    "latitude": ("latitude", np.arange(57.0, 43.0, -0.75), {"units": "degrees_north"}),
    "longitude": (
        "longitude", np.r_[np.arange(354.0, 360.0, 0.75), np.arange(0.0, 14.0, 0.75)], {"units": "degrees_east"},
    ),
}  # fmt: skip
"""Latitudes from north to south, and longitudes on both sides of Greenwich, as ECMWF writes them."""


def cams(path: Path, ozone: Profile, levels: int = 60, surface: float = 1e5, **changes: Any) -> Path:
    """Write CAMS' mass mixing ratios on all model levels, numbered, with the surface pressure."""
    a, b = half_levels(levels)
    pressure = 0.5 * (a[1:] + a[:-1] + (b[1:] + b[:-1]) * surface)
    shape = (TIMES.size, levels, *(values.size for _, values, _ in PLACES.values()))
    dims = ("time", "level", *PLACES)
    mass = np.broadcast_to((ozone(pressure) * OZONE / MOLAR_MASS_DRY_AIR)[:, None, None], shape)
    units = {"units": "kg kg**-1"}
    data = xr.Dataset(
        {
            "go3": (dims, mass, units | {"long_name": "Ozone mass mixing ratio"}),
            "co": (dims, np.full(shape, 100e-9 * CARBON_MONOXIDE / MOLAR_MASS_DRY_AIR), units),
            "sp": (("time", *PLACES), np.full((shape[0], *shape[2:]), surface), {"units": "Pa"}),
        },
        {"time": TIMES, "level": ("level", np.arange(1, levels + 1), {"long_name": "model_level_number"}), **PLACES},
    )
    return written(path, data, **changes)


def cams_on_pressure(path: Path, ozone: Profile, **changes: Any) -> Path:
    """Write CAMS' mass mixing ratios on pressure levels in hPa, from the top down."""
    level = np.array([100.0, 200.0, 300.0, 500.0, 700.0, 850.0, 925.0, 1000.0])
    shape = (TIMES.size, level.size, *(values.size for _, values, _ in PLACES.values()))
    mass = np.broadcast_to((ozone(100.0 * level) * OZONE / MOLAR_MASS_DRY_AIR)[:, None, None], shape)
    data = xr.Dataset(
        {"go3": (("valid_time", "pressure_level", *PLACES), mass, {"units": "kg kg**-1"})},
        {"valid_time": TIMES, "pressure_level": ("pressure_level", level, {"units": "hPa"}), **PLACES},
    )
    return written(path, data, **changes)


def geos_chem(path: Path, ozone: Profile, **changes: Any) -> Path:
    """Write SpeciesBC variables [mol/mol dry] on hybrid levels: hyam is in hPa, and PS is not in the file."""
    b = np.array([0.99, 0.95, 0.85, 0.6, 0.3, 0.1, 0.0])
    a = 100.0 * (1.0 - b)  # hPa
    lat, lon = np.r_[-89.0, np.arange(-86.0, 87.0, 4.0), 89.0], np.arange(-180.0, 180.0, 5.0)
    shape = (TIMES.size, b.size, lat.size, lon.size)
    terms = {
        "long_name": "hybrid level at midpoints ((A/P0)+B)", "units": "level", "positive": "up",
        "standard_name": "atmosphere_hybrid_sigma_pressure_coordinate",
        "formula_terms": "a: hyam b: hybm p0: P0 ps: PS",
    }  # fmt: skip
    values = np.broadcast_to(ozone(100.0 * a + b * 101325.0)[:, None, None], shape)
    dry = {"units": "mol mol-1 dry"}
    data = xr.Dataset(
        {
            "hyam": ("lev", a, {"units": "hPa"}), "hybm": ("lev", b, {"units": "1"}),
            "P0": ((), 1000.0, {"units": "hPa"}),
            "SpeciesBC_O3": (("time", "lev", "lat", "lon"), values, dry),
            "SpeciesBC_CH2O": (("time", "lev", "lat", "lon"), np.full(shape, 1e-9), dry),
        },
        {"time": TIMES, "lev": ("lev", a / 1000.0 + b, terms),
         "lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})},
    )  # fmt: skip
    return written(path, data, **changes)


def wrf_chem(path: Path, ozone: Profile, **changes: Any) -> Path:
    """Write WRF-Chem's ozone [ppmv] and sulfate [ug/kg of dry air] on a Mercator grid, with P and PB."""
    from airshed.grid.projected import projection
    from airshed.io.grid_file import WRF_RADIUS

    mapping = projection("mercator", 5.0, 50.0, (50.0,), WRF_RADIUS)
    x, y = (middle + 1e5 * np.arange(-7.5, 8.0) for middle in mapping.from_lonlat(np.array(5.0), np.array(50.0)))
    lon, lat = mapping.to_lonlat(*np.meshgrid(x, y))
    pressure = np.broadcast_to(np.array([1e5, 9e4, 7e4, 5e4, 3e4, 1e4])[None, :, None, None], (5, 6, *lon.shape))
    dims = ("Time", "bottom_top", "south_north", "west_east")
    flat, times = dims[2:], ["2022-08-31_00", "2022-08-31_06", "2022-08-31_12", "2022-08-31_18", "2022-09-01_00"]
    data = xr.Dataset(
        {
            "Times": ("Time", np.array([f"{each}:00:00" for each in times], "S19")),
            "XLAT": (("Time", *flat), np.broadcast_to(lat, (5, *lat.shape))),
            "XLONG": (("Time", *flat), np.broadcast_to(lon, (5, *lon.shape))),
            "P": (dims, 0.1 * pressure, {"units": "Pa"}), "PB": (dims, 0.9 * pressure, {"units": "Pa"}),
            "o3": (dims, 1e6 * ozone(pressure), {"units": "ppmv"}),
            "so4aj": (dims, np.full(pressure.shape, 2.0), {"units": "ug/kg-dryair"}),
        },
        attrs={"TITLE": " OUTPUT FROM WRF V4.4 MODEL", "MAP_PROJ": 3, "TRUELAT1": 50.0, "TRUELAT2": 50.0, "DX": 1e5,
               "DY": 1e5, "STAND_LON": 5.0, "CEN_LAT": 50.0, "CEN_LON": 5.0, "MOAD_CEN_LAT": 50.0},
    )  # fmt: skip
    return written(path, data, **changes)


def cmaq(path: Path, ozone: Profile, **changes: Any) -> Path:
    """Write CMAQ's concentrations in ppmV on sigma layers of a Lambert grid, with the flags of the I/O API."""
    sigma = np.array([1.0, 0.99, 0.95, 0.85, 0.6, 0.3, 0.1, 0.0])
    middle = 0.5 * (sigma[1:] + sigma[:-1])
    shape = (5, middle.size, 16, 20)
    flags = np.array([[2022243, 0], [2022243, 60000], [2022243, 120000], [2022243, 180000], [2022244, 0]], np.int32)
    dims = ("TSTEP", "LAY", "ROW", "COL")
    values = np.broadcast_to(1e6 * ozone(5000.0 + middle * (101325.0 - 5000.0))[:, None, None], shape)
    data = xr.Dataset(
        {
            "TFLAG": (("TSTEP", "VAR", "DATE-TIME"), np.repeat(flags[:, None], 3, axis=1)),
            "O3": (dims, values, {"units": "ppmV            "}),
            "FORM": (dims, np.full(shape, 1e-3), {"units": "ppmV            "}),
            "ASO4J": (dims, np.full(shape, 2.0), {"units": "ug m-3          "}),
        },
        attrs={"GDTYP": 2, "P_ALP": 45.0, "P_BET": 55.0, "P_GAM": 5.0, "XCENT": 5.0, "YCENT": 50.0, "XORIG": -8e5,
               "YORIG": -6.4e5, "XCELL": 8e4, "YCELL": 8e4, "NCOLS": 20, "NROWS": 16, "VGTYP": 7, "VGTOP": 5000.0,
               "VGLVLS": sigma, "VAR-LIST": "O3              FORM            ASO4J           "},
    )  # fmt: skip
    return written(path, data, **changes)


def written(path: Path, data: xr.Dataset, change: Callable[[xr.Dataset], xr.Dataset] = lambda data: data) -> Path:
    """Write a dataset, changed by a function, and return its path."""
    change(data).to_netcdf(path)
    return path
