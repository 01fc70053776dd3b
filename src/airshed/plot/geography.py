"""Coasts, borders and cities of any area on the globe, from the data of airshed.grid."""

import csv
import gzip
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from airshed.core.topojson import lines
from airshed.grid.world import ENGLISH

Line = NDArray[np.float64]
"""Points of a line, shape (points, 2): longitude, latitude [degrees]."""

_PIXELS = 1500
"""A picture has fewer pixels than this across a map: finer detail of lines would cost time and not show."""

CITY_CREDIT = "cities: GeoNames"
MAP_CREDIT = f"coasts: Natural Earth, {CITY_CREDIT}"


@dataclass(frozen=True)
class Area:
    """A box on the globe [degrees]; west < east, and either may lie beyond ±180 when the box crosses the date line."""

    west: float
    east: float
    south: float
    north: float


@dataclass(frozen=True)
class City:
    """A city of 100 000 people or more; longitude in the same turn as its area."""

    name: str
    longitude: float
    latitude: float
    population: int


@cache
def coasts_and_borders(area: Area) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """Return the coast lines and the country borders that may cross an area, moved to the area's turn of longitude."""
    coasts, borders = _world()
    return tuple(_within(coasts, area)), tuple(_within(borders, area))


@cache
def cities(area: Area) -> tuple[City, ...]:
    """Return the cities of an area, the largest first."""
    found = []
    for city in _all_cities():
        longitude = area.west + (city.longitude - area.west) % 360
        if longitude < area.east and area.south < city.latitude < area.north:
            found.append(City(city.name, longitude, city.latitude, city.population))
    return tuple(found)


def _within(world: list[Line], area: Area) -> list[Line]:
    found = []
    detail = max(area.east - area.west, area.north - area.south) / _PIXELS
    for line in world:
        if line[:, 1].max() < area.south or line[:, 1].min() > area.north:
            continue
        west, east = line[:, 0].min(), line[:, 0].max()
        for turn in (-360.0, 0.0, 360.0):
            if east + turn >= area.west and west + turn <= area.east:
                found.append(_thinned(line, detail) + np.array([turn, 0.0]))
    return [line for line in found if len(line) > 1]


def _thinned(line: Line, detail: float) -> Line:
    """Return a line with only the first of successive points in the same square of a size [degrees]."""
    squares = np.round(line / detail)
    kept: Line = line[np.append(True, np.any(squares[1:] != squares[:-1], axis=1))]
    return kept


@cache
def _world() -> tuple[list[Line], list[Line]]:
    data = files("airshed.grid").joinpath("data/countries-50m.topo.json.gz").read_bytes()
    coasts, borders = lines(json.loads(gzip.decompress(data)), "countries")
    return [p for line in coasts for p in _without_seam(line)], [p for line in borders for p in _without_seam(line)]


def _without_seam(line: Line) -> list[Line]:
    """Cut a line where it runs along or jumps over the date line, or along the south pole: seams of the map data."""
    seam = (np.abs(line[:, 0]) > 179.99) | (line[:, 1] < -89.9)
    cut = (seam[:-1] & seam[1:]) | (np.abs(np.diff(line[:, 0])) > 180)
    pieces = np.split(line, np.flatnonzero(cut) + 1)
    return [piece for piece in pieces if len(piece) > 1]


@cache
def _all_cities() -> tuple[City, ...]:
    text = files("airshed.grid").joinpath("data/cities.csv").read_text(encoding="utf-8")
    found = []
    for row in csv.DictReader(text.splitlines()):
        name = ENGLISH.get(row["name"], row["name"])
        found.append(City(name, float(row["longitude"]), float(row["latitude"]), int(row["population"])))
    return tuple(found)
