"""Areas by their names: which cells of a grid are on land there, and how far each is from the coast."""

import json
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import CaseError
from airshed.core.topojson import Polygon
from airshed.grid.land import LandGrid, polygons_of
from airshed.grid.world import find_place

Array = npt.NDArray[np.float64]
Ends = tuple[float, float]

_BOXES: Final = {
    "queensland": ((138.0, 153.6), (-29.0, -10.4)),  # that of Rezny (1994): 156 x 186 cells of 0.1 degree
    "australia": ((112.0, 154.0), (-44.0, -10.0)),
}
_COAST: Final = "Australia"
"""The country whose outline is the coast, which the border of a state is not."""

_COAST_STEP: Final = 0.05  # [degrees] between points of the coast, well below a cell


def land_grid(area: str, spacing: float) -> LandGrid:
    """Return the cells of "Queensland", "Australia" or another country by its name, of a spacing [degrees].

    Raises CaseError for a name that is not known, and for a spacing that does not divide the box.
    """
    name = area.strip().casefold()
    polygons = _queensland() if name == "queensland" else find_place(area, "area").outline
    if not polygons:
        raise CaseError(f"area = {area!r} is a city; name a country, or Queensland")
    lon, lat = _BOXES.get(name) or _box(polygons, spacing)
    return LandGrid.regular(lon, lat, spacing, polygons)


def coast_distance(grid: LandGrid, area: str) -> Array:
    """Return the distance of packed cells from the coast [km] (cells,); of other countries, from their border."""
    known = area.strip().casefold() in _BOXES
    return distance_to_coast(grid.cell_lat, grid.cell_lon, _COAST if known else area)


def distance_to_coast(lat: npt.ArrayLike, lon: npt.ArrayLike, country: str = _COAST) -> Array:
    """Return the distance of places [degrees] from the outline of a country [km]."""
    from scipy.spatial import KDTree

    chord, _ = KDTree(_on_sphere(*_coast(country).T)).query(_on_sphere(np.asarray(lon), np.asarray(lat)))
    return np.asarray(2.0 * np.arcsin(np.minimum(chord / 2.0, 1.0)) * EARTH_RADIUS / 1000.0)


@cache
def _queensland() -> tuple[Polygon, ...]:
    text = files("airshed.pasture.inputs").joinpath("data/queensland.geojson").read_text(encoding="utf-8")
    (feature,) = json.loads(text)["features"]
    return tuple(polygons_of(feature["geometry"]["coordinates"], feature["geometry"]["type"]))


@cache
def _coast(country: str) -> Array:
    """Points along the outline of a country (points, 2): longitude, latitude [degrees]."""
    pieces = []
    for ring in (ring for polygon in find_place(country, "area").outline for ring in polygon):
        for start, end in pairwise(ring):
            count = max(int(np.abs(end - start).max() / _COAST_STEP), 1)
            pieces.append(start + (end - start) * np.linspace(0.0, 1.0, count, endpoint=False)[:, None])
    return np.concatenate(pieces)


def _on_sphere(lon: Array, lat: Array) -> Array:
    east, north = np.radians(lon), np.radians(lat)
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=-1)


def _box(polygons: tuple[Polygon, ...], spacing: float) -> tuple[Ends, Ends]:
    points = np.concatenate([ring for polygon in polygons for ring in polygon])
    low, high = (np.floor(points.min(axis=0) / spacing), np.ceil(points.max(axis=0) / spacing))
    (west, south), (east, north) = (low * spacing).tolist(), (high * spacing).tolist()
    return (west, east), (south, north)
