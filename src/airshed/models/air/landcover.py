"""Land fraction of each cell, and roughness lengths of land and sea."""

from importlib.resources import as_file, files

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS, GRAVITY
from airshed.grid import Grid
from airshed.grid.regrid import Regridder
from airshed.grid.weights import Weights, apply
from airshed.io.netcdf import plain_values

LAND_FRACTION_SOURCE = "land_fraction.nc: Natural Earth 1:50m land polygons as 0.1 degree fractions, whole globe"
"""Source of the map of :func:`land_fraction`, for the provenance of a case."""

LAND_ROUGHNESS = 0.25
"""Roughness length of the mixed land of western Europe [m]: logarithmic mean of 65 % fields and grass (0.1 m),
30 % forest (1.0 m) and 5 % towns (0.7 m), classes as in Stull (1988), fig. 9.6."""

_CHARNOCK = 0.016
_AIR_VISCOSITY = 1.5e-5
_SMALLEST_FRICTION_VELOCITY = 0.01


def land_fraction(grid: Grid) -> Array:
    """Return the land fraction of each cell.

    f = sum over map cells of f_map |cell and map cell| / |cell|, areas on the sphere; lakes count as land.

    returns  (nlat, nlon) [1], 0 to 1
    source   Natural Earth 1:50m (public domain)
    """
    with as_file(files("airshed.models.air") / "data" / "land_fraction.nc") as path:
        percent = plain_values(path, "land_fraction")  # (lat, lon) [%], over the whole globe from 90 S and 180 W
    parallels = np.linspace(-90.0, 90.0, len(percent) + 1)
    if not grid.mapping.separable:
        return _by_outlines(percent, parallels, grid)
    rows = _shares(np.sin(np.radians(grid.y_faces)), np.sin(np.radians(parallels)))
    columns = _shares(grid.x_faces, np.linspace(-540.0, 900.0, 4 * percent.shape[1] + 1))
    near = columns.nodes
    around = percent[rows.nodes].take(np.arange(near.start, near.stop), axis=1, mode="wrap").astype(np.float64)
    fraction = apply(rows.beginning_at(rows.nodes.start), around, columns.beginning_at(near.start)) / 100.0
    return np.asarray(np.clip(fraction, 0.0, 1.0))


def sea_roughness(friction_velocity: Array) -> Array:
    """Return the roughness length of the sea, which increases with the waves.

    z0 = 0.016 u*^2 / g + 0.11 nu / u*

    reads    friction_velocity [m/s], any shape; the minimum is 0.01
    returns  same shape [m]
    source   Charnock 1955, Q. J. R. Meteorol. Soc. 81, 639-640; smooth flow: Smith 1988, J. Geophys. Res. 93, 15467
    """
    friction = np.maximum(friction_velocity, _SMALLEST_FRICTION_VELOCITY)
    return np.asarray(_CHARNOCK * friction**2 / GRAVITY + 0.11 * _AIR_VISCOSITY / friction)


def roughness_length(land: Array, friction_velocity: Array) -> Array:
    """Return the roughness length of cells with land and sea: the area-weighted logarithmic mean.

    reads    land [1] and friction_velocity [m/s], both (nlat, nlon)
    returns  (nlat, nlon) [m]
    source   Mason 1988, Q. J. R. Meteorol. Soc. 114, 399-420, for a blending height far above both
    """
    mean: Array = np.exp(land * np.log(LAND_ROUGHNESS) + (1.0 - land) * np.log(sea_roughness(friction_velocity)))
    return mean


def _by_outlines(percent: NDArray[np.integer], parallels: Array, grid: Grid) -> Array:
    """Return the land fraction of cells of any shape, from the part of the map around the grid."""
    _, _, south, north = grid.bounds
    first, last = np.searchsorted(parallels, [south, north])
    near = slice(max(int(first) - 1, 0), min(int(last) + 1, len(percent)))
    parallels = parallels[near.start : near.stop + 1]
    meridians = np.linspace(-180.0, 180.0, percent.shape[1] + 1)
    areas = np.outer(np.diff(np.sin(np.radians(parallels))), np.radians(np.diff(meridians))) * EARTH_RADIUS**2
    move = Regridder(meridians, parallels, grid)
    return np.clip(move(0.01 * percent[near] * areas) / move.target_area, 0.0, 1.0)


def _shares(cells: Array, map_cells: Array) -> Weights:
    """Return the fraction of each cell that each map cell covers, from the coordinates of their faces."""
    first = max(int(np.searchsorted(map_cells, cells[0], side="right")) - 1, 0)
    last = min(int(np.searchsorted(map_cells, cells[-1])), map_cells.size - 1)
    near = map_cells[first : last + 1]
    low = np.maximum(cells[:-1, None], near[None, :-1])
    high = np.minimum(cells[1:, None], near[None, 1:])
    return Weights.of(np.maximum(high - low, 0.0) / np.diff(cells)[:, None]).beginning_at(-first)
