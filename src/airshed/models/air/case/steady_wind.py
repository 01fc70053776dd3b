"""Steady wind of a case with uniform meteorology, as a function of the location."""

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.grid import Grid
from airshed.models.air.case.sections import MeteorologySection


def steady_wind(
    settings: MeteorologySection, lon: Array, lat: Array, middle_lon: float, middle_lat: float
) -> tuple[Array, Array]:
    """Return the eastward and northward wind [m/s] at coordinates [rad]: a steady wind and a rotation.

    The middle is that of the area. `airshed.models.air.weather.case_weather.uniform_meteorology` has the equations of
    the rotation, which is non-divergent.

    lon, lat                of any shape
    middle_lon, middle_lat  about which the air rotates
    """
    # meridians converge towards the pole; with this scaling the flux through every parallel is the same
    narrowing = np.cos(middle_lat) / np.maximum(np.cos(lat), 1e-3)
    east, north = np.full(lat.shape, settings.eastward.value), narrowing * settings.northward.value
    if settings.rotation is not None:
        speed = 2.0 * np.pi / settings.rotation.value * EARTH_RADIUS
        away = np.mod(lon - middle_lon + np.pi, 2.0 * np.pi) - np.pi
        east += -speed * np.cos(lat) * (np.sin(lat) - np.sin(middle_lat)) / np.cos(middle_lat) ** 2
        north += speed * np.cos(middle_lat) * narrowing * away
    return east, north


def outflow_rate(settings: MeteorologySection, grid: Grid) -> float:
    """Return the largest share of its air that leaves a cell in the steady wind [1/s], which limits the step.

    Winds at the centre of a cell stand for those at its faces.
    """
    middle_lon, middle_lat = np.radians(grid.middle)
    east, north = steady_wind(settings, np.radians(grid.lon), np.radians(grid.lat), middle_lon, middle_lat)
    along, across = np.cos(grid.rotation), np.sin(grid.rotation)
    x, y = along * east + across * north, along * north - across * east
    return float(np.max(np.abs(x) / grid.x_width + np.abs(y) / grid.y_width))
