"""The analytic air of a case without data: one wind everywhere, or the turning of the whole area around its middle."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.constants import EARTH_RADIUS, GAS_CONSTANT, GRAVITY, MOLAR_MASS_DRY_AIR, MOLAR_MASS_WATER
from airshed.core.errors import CaseError
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.case.sections import MeteorologySection
from airshed.models.air.weather.dataset import DatasetMeteorology
from airshed.models.air.weather.extra import CLOUD_WATER, UPDRAUGHT, WeatherField
from airshed.models.air.weather.onto import PlacedField

Array = npt.NDArray[np.float64]

WATER_DENSITY: Final = 1000.0
"""Of rain [kg m-3]."""

MOST_WIND: Final = 1e3
"""Speed [m/s] beyond that of any wind, as of data that is read."""


def uniform_meteorology(
    settings: MeteorologySection, grid: Grid, start: np.datetime64, land: Array, window: Window | None = None,
    extra: Sequence[WeatherField] = (),
) -> DatasetMeteorology:  # fmt: skip
    """Return steady air from the values of a case: isothermal, hydrostatic, with winds given at the cell faces.

    p(z) = p0 exp(-g M z / (R T)); turning with period P around the middle (lon0, lat0) of the area [m/s],

        u = -omega R cos(lat) (sin(lat) - sin(lat0)) / cos^2(lat0),  v = omega R cos^2(lat0) / cos(lat) (lon - lon0)

    with omega = 2 pi / P. In longitude and sin(lat), the coordinates in which areas are true, this is a harmonic
    oscillator: without divergence, and everything is back after P at any latitude; near the middle it turns as a solid.
    The middle is that of the whole ``grid``, also where only the states of a ``window`` of it are made. Raises
    CaseError for a wind faster than any.
    """
    eastward, northward = (
        np.full(grid.lat.size, settings.eastward.value),
        np.full(grid.lon.size, settings.northward.value),
    )
    wind_east = np.repeat(eastward[:, None], grid.lon.size + 1, axis=1)
    # a wind towards the pole converges with the meridians; so scaled its flux through every circle is the same
    middle = np.radians(0.5 * (grid.lat_faces[0] + grid.lat_faces[-1]))
    narrowing = np.cos(middle) / np.maximum(np.cos(np.radians(grid.lat_faces)), 1e-3)
    wind_north = narrowing[:, None] * northward
    if settings.rotation is not None:
        turning_east, turning_north = _rotation(grid, settings.rotation.value)
        wind_east, wind_north = wind_east + turning_east, wind_north + turning_north
    fastest = max(float(np.abs(wind_east).max()), float(np.abs(wind_north).max()))
    if not fastest <= MOST_WIND:
        raise CaseError(
            f"meteorology.eastward, northward and rotation make a wind of {fastest:.3g} m/s, and {MOST_WIND:g} m/s is "
            "the most; take a slower one, or an area farther from the poles"
        )
    temperature, height = settings.temperature.value, grid.level
    pressure = settings.pressure.value * np.exp(-GRAVITY * MOLAR_MASS_DRY_AIR * height / (GAS_CONSTANT * temperature))
    ratio = settings.water_vapour.value
    humidity = ratio * MOLAR_MASS_WATER / (ratio * MOLAR_MASS_WATER + (1.0 - ratio) * MOLAR_MASS_DRY_AIR)
    data: dict[str, PlacedField] = {
        "eastward_wind": PlacedField(("lat", "lon_face"), wind_east),
        "northward_wind": PlacedField(("lat_face", "lon"), wind_north),
        "air_temperature": PlacedField(("level",), np.full(height.size, temperature)),
        "air_pressure": PlacedField(("level",), pressure),
        "specific_humidity": PlacedField(("level",), np.full(height.size, humidity)),
        "atmosphere_heat_diffusivity": PlacedField(("level",), np.full(height.size, settings.diffusivity.value)),
        "cloud_area_fraction": PlacedField((), np.asarray(settings.cloud_cover)),
    }
    if settings.precipitation.value > 0.0:
        data["precipitation_flux"] = PlacedField((), np.asarray(WATER_DENSITY * settings.precipitation.value))
    base, top = settings.cloud_base.value, settings.cloud_top.value
    if settings.cloud_water.value > 0.0:
        inside = np.minimum(grid.layer_faces[1:], top) - np.maximum(grid.layer_faces[:-1], base)
        part = np.maximum(inside, 0.0) / grid.thickness
        data[CLOUD_WATER.cf_name] = PlacedField(("level",), part * settings.cloud_water.value)
    if settings.updraught.value > 0.0:
        growth = np.minimum(grid.layer_faces / max(base, 1.0), 1.0)  # to the base of the cloud
        flux = np.where(grid.layer_faces < top, growth, 0.0) * settings.updraught.value
        data[UPDRAUGHT.cf_name] = PlacedField(("level_face",), flux)
    return DatasetMeteorology(data, grid, start, land_fraction=land, window=window, extra=extra)


def _rotation(grid: Grid, period: float) -> tuple[Array, Array]:
    """Return the winds at the east-west faces (lat, lon_face) and the north-south faces (lat_face, lon)."""
    lon, lat, lat_faces = np.radians(grid.lon), np.radians(grid.lat), np.radians(grid.lat_faces)
    middle_lon, middle_lat = 0.5 * (lon[0] + lon[-1]), 0.5 * (lat_faces[0] + lat_faces[-1])
    speed = 2.0 * np.pi / period * EARTH_RADIUS
    eastward = -speed * np.cos(lat) * (np.sin(lat) - np.sin(middle_lat)) / np.cos(middle_lat) ** 2
    east = np.repeat(eastward[:, None], grid.lon.size + 1, axis=1)
    narrowing = np.cos(middle_lat) ** 2 / np.maximum(np.cos(lat_faces), 1e-3)
    north = speed * narrowing[:, None] * (lon - middle_lon)[None, :]
    return east, north
