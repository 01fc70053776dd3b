"""Writes small wrfout files: an earth-relative wind, a standard lapse of temperature, flat or sloping ground."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import netCDF4
import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT_DRY_AIR, GRAVITY, HEAT_CAPACITY_DRY_AIR
from airshed.grid import Grid
from airshed.grid.projected import MapProjection, projection
from airshed.io.grid_file import WRF_RADIUS

KINDS: Final = {"lambert": 1, "polar stereographic": 2, "mercator": 3, "rotated pole": 6}
START: Final = np.datetime64("2022-06-01T00:00:00")
TOPS: Final = np.array([0.0, 30.0, 90.0, 200.0, 400.0, 700.0, 1100.0, 1700.0])
"""Heights of the staggered levels above ground [m]."""


def mapping_of(kind: str) -> MapProjection:
    """Return the projection of the files of a kind."""
    lon, lat, parallels = {
        "lambert": (8.0, 50.0, (40.0, 60.0)), "polar stereographic": (-60.0, 76.0, (76.0,)),
        "mercator": (-2.0, 16.0, (16.0,)), "rotated pole": (190.0, 40.0, ()),
    }[kind]  # fmt: skip
    return projection(kind, lon, lat, parallels, WRF_RADIUS)


def write_wrfout(
    path: Path, kind: str = "lambert", wind: tuple[float, float] = (7.0, -3.0), *, shape: tuple[int, int] = (9, 11),
    size: float = 20e3, hours: Sequence[float] = (0.0, 1.0, 2.0), offsets: Sequence[int] = (0, 0, 0),
    slope: float = 0.0, without: Sequence[str] = (), tops: Array = TOPS, **attributes: Any,
) -> Path:  # fmt: skip
    """Write a file and return its path; offsets move the domain along x by a number of cells at each time."""
    mapping, (rows, columns), levels = mapping_of(kind), shape, tops.size - 1
    corner = {
        "lambert": (1e5, -1e5), "polar stereographic": (2e5, -15e5), "mercator": (0.0, 17e5),
        "rotated pole": (-1.0, 2.0),
    }[kind]  # fmt: skip
    is_rotated = kind == "rotated pole"
    side = size / 1e5 if is_rotated else size  # [degrees] of a rotated frame
    with netCDF4.Dataset(path, "w") as file:
        for name, count in (
            ("Time", None), ("DateStrLen", 19), ("west_east", columns), ("south_north", rows), ("bottom_top", levels),
            ("west_east_stag", columns + 1), ("south_north_stag", rows + 1), ("bottom_top_stag", levels + 1),
        ):  # fmt: skip
            file.createDimension(name, count)
        given = mapping.parameters
        lat = given.get("latitude_of_projection_origin", 16.0) if kind == "lambert" else 76.0
        parallels = np.ravel(np.asarray(given.get("standard_parallel", 0.0)))
        attributes |= {"POLE_LAT": np.float32(40.0), "POLE_LON": np.float32(180.0)} if is_rotated else {}
        numbers = {
            "DX": size, "DY": size, "CEN_LAT": lat, "MOAD_CEN_LAT": lat,
            "STAND_LON": -10.0 if is_rotated else mapping.centre,
            "TRUELAT1": parallels[0], "TRUELAT2": parallels[-1],
        }  # fmt: skip
        single = {name: np.float32(value) for name, value in numbers.items()}
        file.setncatts({"MAP_PROJ": np.int32(KINDS[kind]), "GRID_ID": np.int32(1), **single, **attributes})
        for index, (hour, offset) in enumerate(zip(hours, offsets, strict=True)):
            x = corner[0] + side * (offset + np.arange(columns + 1))
            grid = Grid.mapped(mapping, x, corner[1] + side * np.arange(rows + 1), (0.0, 100.0))
            _write(file, index, hour, grid, wind, slope, set(without), tops)
    return path


def _write(
    file: netCDF4.Dataset,
    index: int,
    hour: float,
    grid: Grid,
    wind: tuple[float, float],
    slope: float,
    without: set[str],
    tops: Array,
) -> None:
    """Write the variables of one time."""
    ground = slope * (grid.x - grid.x[0])[None] * np.ones((grid.y.size, 1)) / 1e3
    staggered = ground + tops[:, None, None]
    height = 0.5 * (staggered[1:] + staggered[:-1])
    temperature = 290.0 - 6.5e-3 * height
    pressure = 1e5 * (1.0 - 6.5e-3 * height / 290.0) ** (GRAVITY / (GAS_CONSTANT_DRY_AIR * 6.5e-3))
    theta = temperature * (1e5 / pressure) ** (GAS_CONSTANT_DRY_AIR / HEAT_CAPACITY_DRY_AIR)
    (at_x, at_y), (east, north) = grid.wind_rotation, wind
    ones = np.ones((tops.size - 1, 1, 1))
    mass, two = ("bottom_top", "south_north", "west_east"), ("south_north", "west_east")
    fields = {
        "XLONG": (two, grid.lon), "XLAT": (two, grid.lat), "HGT": (two, ground),
        "U": ((*mass[:2], "west_east_stag"), ones * (np.cos(at_x) * east + np.sin(at_x) * north)),
        "V": ((mass[0], "south_north_stag", mass[2]), ones * (np.cos(at_y) * north - np.sin(at_y) * east)),
        "W": (("bottom_top_stag", *two), np.zeros((tops.size, *grid.shape[1:]))),
        "T": (mass, theta - 300.0), "P": (mass, 0.1 * pressure), "PB": (mass, 0.9 * pressure),
        "PH": (("bottom_top_stag", *two), 0.2 * GRAVITY * staggered),
        "PHB": (("bottom_top_stag", *two), 0.8 * GRAVITY * staggered),
        "QVAPOR": (mass, np.full(pressure.shape, 8e-3)), "QCLOUD": (mass, np.full(pressure.shape, 1e-4)),
        "PSFC": (two, 1e5 * (1.0 - 6.5e-3 * ground / 290.0) ** (GRAVITY / (GAS_CONSTANT_DRY_AIR * 6.5e-3))),
        "T2": (two, 290.0 - 6.5e-3 * ground), "PBLH": (two, np.full(ground.shape, 500.0)),
        "UST": (two, np.full(ground.shape, 0.3)), "HFX": (two, np.full(ground.shape, 50.0)),
        "LH": (two, np.full(ground.shape, 80.0)), "SWDOWN": (two, np.full(ground.shape, 400.0)),
        "U10": (two, np.full(ground.shape, 5.0)), "V10": (two, np.zeros(ground.shape)),
        "RAINC": (two, np.full(ground.shape, 0.0)), "RAINNC": (two, np.full(ground.shape, 2.0 * hour)),
        "CLDFRA": (mass, np.full(pressure.shape, 0.25)),
    }  # fmt: skip
    for name, (dims, values) in fields.items():
        if name not in without:
            if name not in file.variables:
                file.createVariable(name, "f4", ("Time", *dims))
            file[name][index] = values
    if "Times" not in file.variables:
        file.createVariable("Times", "S1", ("Time", "DateStrLen"))
    when = str(START + np.timedelta64(round(3600 * hour), "s")).replace("T", "_")
    file["Times"][index] = np.frombuffer(when.encode(), "S1")
