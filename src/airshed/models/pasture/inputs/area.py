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
from airshed.core.text import suggestion
from airshed.core.topojson import Polygon
from airshed.grid.land import LandGrid, polygons_of
from airshed.grid.world import find_place

Array = npt.NDArray[np.float64]

_BOXES: Final = {
    "Queensland": ((138.0, 153.6), (-29.0, -10.4)),  # that of Rezny (1994): 156 x 186 cells of 0.1 degree
    "Australia": ((112.0, 154.0), (-44.0, -10.0)),
}
"""West and east, south and north [degrees]; the gradients between stations are those of this part of the world."""

_COAST_STEP: Final = 0.05  # [degrees] between points of the coast, well below a cell


def land_grid(area: str, spacing: float) -> LandGrid:
    """Return the cells of "Queensland" or "Australia" whose centres are on land, of a spacing [degrees].

    Raises CaseError for a name that is not known, and for a spacing that does not divide the box.
    """
    name = area.strip().title()
    if name not in _BOXES:
        raise CaseError(f"area = {area!r} is not known; {suggestion(name, _BOXES)}")
    polygons = _queensland() if name == "Queensland" else find_place("Australia", "area").outline
    return LandGrid.regular(*_BOXES[name], spacing, polygons)


def coast_distance(grid: LandGrid) -> Array:
    """Return the distance of packed cells from the coast [km] (cells,)."""
    return distance_to_coast(grid.cell_lat, grid.cell_lon)


def distance_to_coast(lat: npt.ArrayLike, lon: npt.ArrayLike) -> Array:
    """Return the distance of places [degrees] from the coast of Australia [km]; the border of a state is none."""
    from scipy.spatial import KDTree

    chord, _ = KDTree(_on_sphere(*_coast().T)).query(_on_sphere(np.asarray(lon), np.asarray(lat)))
    return np.asarray(2.0 * np.arcsin(np.minimum(chord / 2.0, 1.0)) * EARTH_RADIUS / 1000.0)


@cache
def _queensland() -> tuple[Polygon, ...]:
    text = files("airshed.models.pasture.inputs").joinpath("data/queensland.geojson").read_text(encoding="utf-8")
    (feature,) = json.loads(text)["features"]
    return tuple(polygons_of(feature["geometry"]["coordinates"], feature["geometry"]["type"]))


@cache
def _coast() -> Array:
    """Points along the coast of Australia (points, 2): longitude, latitude [degrees]."""
    pieces = []
    for ring in (ring for polygon in find_place("Australia", "area").outline for ring in polygon):
        for start, end in pairwise(ring):
            count = max(int(np.abs(end - start).max() / _COAST_STEP), 1)
            pieces.append(start + (end - start) * np.linspace(0.0, 1.0, count, endpoint=False)[:, None])
    return np.concatenate(pieces)


def _on_sphere(lon: Array, lat: Array) -> Array:
    east, north = np.radians(lon), np.radians(lat)
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=-1)
