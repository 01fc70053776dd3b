"""Coasts, borders and cities of any area on the globe, from the data of airshed.grid."""

import csv
import gzip
import json
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.core.topojson import lines
from airshed.grid.mapping import GridMapping, LonLat
from airshed.grid.world import ENGLISH

Line = NDArray[np.float64]
"""Points of a line, shape (points, 2): longitude, latitude [degrees], or x, y of a map."""

LONLAT: Final = LonLat()
"""The mapping of maps whose x is longitude and whose y is latitude."""

_PIXELS = 1500
"""A picture has fewer pixels than this across a map: finer detail of lines would cost time and not show."""

CITY_CREDIT = "cities: GeoNames"
MAP_CREDIT = f"coasts: Natural Earth, {CITY_CREDIT}"


_METRES_PER_DEGREE: Final = float(np.radians(EARTH_RADIUS))
_STEP: Final = 0.5
"""Distance of points of projected lines [degrees]."""


@dataclass(frozen=True)
class Area:
    """A rectangle of a map, in the coordinates of its mapping: degrees, or metres of a projection.

    On longitude and latitude west < east, and either may exceed ±180 where the box crosses the date line.
    """

    west: float
    east: float
    south: float
    north: float
    mapping: GridMapping = LONLAT

    @property
    def is_projected(self) -> bool:
        """Return whether x and y are other coordinates than longitude and latitude."""
        return not isinstance(self.mapping, LonLat)

    @property
    def per_degree(self) -> float:
        """Length of a degree of latitude in the unit of y."""
        return 1.0 if self.mapping.unit == "degrees" else _METRES_PER_DEGREE

    def squeeze(self, y: float) -> float:
        """Return the length on the ground of a unit of x relative to that of y."""
        return float(np.cos(np.radians(y))) if self.mapping.unit == "degrees" else 1.0

    def positions(self, lon: Array, lat: Array) -> tuple[Array, Array]:
        """Return points [degrees] on the map; x of longitudes is in the turn of the area."""
        x, y = self.mapping.from_lonlat(lon, lat)
        return (self.west + (x - self.west) % 360.0 if self.mapping.unit == "degrees" else x), y

    def grown(self, degrees: float) -> "Area":
        """Return the rectangle with a margin at each side, given in degrees of latitude."""
        margin = degrees * self.per_degree
        south, north = self.south - margin, self.north + margin
        if not self.is_projected:
            south, north = max(south, -90.0), min(north, 90.0)
        return Area(self.west - margin, self.east + margin, south, north, self.mapping)

    @cached_property
    def edge(self) -> tuple[Array, Array]:
        """Longitude, without jumps, and latitude of points along the closed edge, from the lower left, [degrees]."""
        along = np.linspace(0.0, 1.0, 201)[:-1]
        x = np.concatenate([along, 0.0 * along + 1.0, 1.0 - along, 0.0 * along, [0.0]])
        y = np.concatenate([0.0 * along, along, 0.0 * along + 1.0, 1.0 - along, [0.0]])
        lon, lat = self.mapping.to_lonlat(
            self.west + x * (self.east - self.west), self.south + y * (self.north - self.south)
        )
        return np.unwrap(lon, period=360.0), lat

    @cached_property
    def bounds(self) -> tuple[float, float, float, float]:
        """Minimum and maximum longitude, minimum and maximum latitude [degrees]; a pole inside has all longitudes."""
        if not self.is_projected:
            return self.west, self.east, self.south, self.north
        lon, lat = self.edge
        if abs(lon[-1] - lon[0]) < 180.0:
            return float(lon.min()), float(lon.max()), float(lat.min()), float(lat.max())
        is_north = lat.mean() > 0.0
        return -180.0, 180.0, -90.0 if not is_north else float(lat.min()), 90.0 if is_north else float(lat.max())


@dataclass(frozen=True)
class City:
    """A city of 100 000 people or more, with its position on a map; on longitude and latitude x is in the same turn."""

    name: str
    longitude: float
    latitude: float
    population: int
    x: float
    y: float


@cache
def coasts_and_borders(area: Area) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """Return the coast lines and the country borders that may cross an area, in the coordinates of its map."""
    coasts, borders = _world()
    pick = _projected if area.is_projected else _within
    return tuple(pick(coasts, area)), tuple(pick(borders, area))


@cache
def cities(area: Area) -> tuple[City, ...]:
    """Return the cities of an area, the largest first."""
    every = _all_cities()
    lon, lat = (np.array([getattr(each, name) for each in every]) for name in ("longitude", "latitude"))
    x, y = area.positions(lon, lat)
    inside = (area.west <= x) & (x < area.east) & (area.south < y) & (y < area.north)
    return tuple(
        City(each.name, each.longitude if area.is_projected else float(x[k]), each.latitude, each.population,
             float(x[k]), float(y[k]))
        for k, each in enumerate(every) if inside[k]
    )  # fmt: skip


def _projected(world: list[Line], area: Area) -> list[Line]:
    """Return the lines of the world on a projected map, cut at its edge with a margin."""
    west, east, south, north = area.bounds
    margin = 0.1 * (area.east - area.west), 0.1 * (area.north - area.south)
    detail = max(area.east - area.west, area.north - area.south) / _PIXELS
    found = []
    for line in world:
        if line[:, 1].max() < south or line[:, 1].min() > north:
            continue
        turns = range(-360, 361, 360)
        if not any(line[:, 0].min() + turn <= east and line[:, 0].max() + turn >= west for turn in turns):
            continue
        x, y = area.mapping.from_lonlat(*dense(line).T)
        if area.mapping.unit == "degrees":
            x = area.west - margin[0] + (x - area.west + margin[0]) % 360
        inside = (x > area.west - margin[0]) & (x < area.east + margin[0])
        inside &= (y > area.south - margin[1]) & (y < area.north + margin[1])
        pieces = np.split(np.stack([x, y], axis=1), np.flatnonzero(np.diff(inside)) + 1)
        first = 0 if inside[0] else 1
        found += [_thinned(piece, detail) for piece in pieces[first::2]]
    return [line for line in found if len(line) > 1]


def dense(line: Line) -> Line:
    """Return a line with further points, so that its projection is a smooth curve."""
    lengths = np.abs(np.diff(line, axis=0)).max(axis=1)
    at = np.concatenate([[0.0], np.cumsum(lengths)])
    counts = np.ceil(lengths / _STEP).astype(int).clip(1)
    fine = np.concatenate([np.linspace(0.0, 1.0, n, endpoint=False) * size + a
                           for n, size, a in zip(counts, lengths, at[:-1], strict=True)] + [at[-1:]])  # fmt: skip
    return np.stack([np.interp(fine, at, line[:, axis]) for axis in (0, 1)], axis=1)


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
def country_lines() -> tuple[list[Line], list[Line]]:
    """Return the coasts and the borders of all countries [degrees], coasts with the seams of the map data."""
    data = files("airshed.grid").joinpath("data/countries-50m.topo.json.gz").read_bytes()
    return lines(json.loads(gzip.decompress(data)), "countries")


@cache
def _world() -> tuple[list[Line], list[Line]]:
    coasts, borders = country_lines()
    return [p for line in coasts for p in without_seam(line)], [p for line in borders for p in without_seam(line)]


def without_seam(line: Line) -> list[Line]:
    """Cut a line where it runs along or jumps over the date line, or along the south pole: seams of the map data."""
    seam = (np.abs(line[:, 0]) > 179.99) | (line[:, 1] < -89.9)
    cut = (seam[:-1] & seam[1:]) | (np.abs(np.diff(line[:, 0])) > 180)
    pieces = np.split(line, np.flatnonzero(cut) + 1)
    return [piece for piece in pieces if len(piece) > 1]


@cache
def _all_cities() -> tuple[City, ...]:
    """Return all cities at their longitude and latitude."""
    text = files("airshed.grid").joinpath("data/cities.csv").read_text(encoding="utf-8")
    found = []
    for row in csv.DictReader(text.splitlines()):
        name = ENGLISH.get(row["name"], row["name"])
        lon, lat = float(row["longitude"]), float(row["latitude"])
        found.append(City(name, lon, lat, int(row["population"]), lon, lat))
    return tuple(found)
