"""Surroundings of a map: land, coasts, borders and graticule far beyond an area, for pages that move and zoom.

On longitude and latitude they cover the globe, with less detail at a greater distance from the area. On a projected map
they end at a circle around the area.
"""

from dataclasses import dataclass
from functools import cache
from math import ceil, floor
from typing import Final

import numpy as np

from airshed.core.arrays import Array
from airshed.plot.geography import Area, Line, country_lines, dense, without_seam
from airshed.plot.limits import round_step

_DETAIL: Final = 1200
"""Points across the area, or more."""
_COARSER: Final = 0.015
"""Distance of points relative to the distance from the area."""
_NEAR: Final = 3.0
"""Least width of the surroundings with cities [degrees]."""
_PARTS: Final = 256.0
"""Coordinates are multiples of a part of a degree, so that they compress well."""
_RADIUS: Final = (30.0, 60.0)
"""Least and greatest radius of the surroundings of a projected map [degrees]."""
_LINES: Final = 5
"""Meridians and parallels across a projected area, about."""


@dataclass(frozen=True)
class Surroundings:
    """Lines in the coordinates of a map: closed outlines of land, coasts, and borders of countries."""

    land: tuple[Line, ...]
    coasts: tuple[Line, ...]
    borders: tuple[Line, ...]


@dataclass(frozen=True)
class GraticuleLine:
    """A meridian or a parallel [degrees] of a projected map, in its coordinates."""

    is_meridian: bool
    degrees: float
    points: Line


@cache
def surroundings(area: Area) -> Surroundings:
    """Return the land, the coasts and the borders around an area."""
    land, borders = _land(), country_lines()[1]
    coasts = [piece for ring in land for piece in without_seam(ring)]
    parts = _on_projection if area.is_projected else _on_globe
    return Surroundings(parts(land, area, closed=True), parts(coasts, area), parts(borders, area))


def near(area: Area) -> Area:
    """Return the area with the surroundings that have cities."""
    width = max(area.east - area.west, area.north - area.south) / area.per_degree
    return area.grown(max(0.5 * width, _NEAR))


@cache
def graticule(area: Area) -> tuple[GraticuleLine, ...]:
    """Return the meridians and parallels of a projected map at round degrees, as far as its surroundings."""
    west, east, south, north = area.bounds
    step = round_step(max(north - south, min(east - west, 60.0) / 2.0), _LINES)
    lat0 = _centre(area)[1]
    lats = [k * step for k in range(ceil(-85.0 / step), floor(85.0 / step) + 1) if abs(k * step - lat0) < _radius(area)]
    across = step if max(abs(lat) for lat in lats) < 80.0 else 2.0 * step
    lons = [k * across - 180.0 for k in range(round(360.0 / across))]
    along = np.arange(-180.0, 180.1, 1.0)
    lines = [(True, lon, np.stack([np.full(171, lon), np.linspace(-85.0, 85.0, 171)], axis=1)) for lon in lons]
    lines += [(False, lat, np.stack([along, np.full(along.size, lat)], axis=1)) for lat in lats]
    return tuple(
        GraticuleLine(is_meridian, degrees, piece)
        for is_meridian, degrees, line in lines
        for piece in _on_projection([line], area)
    )


@cache
def _land() -> list[Line]:
    """Return the closed outlines of land: coasts in a row, each of which continues the one before."""
    coasts, _ = country_lines()
    ends: dict[tuple[float, float], list[int]] = {}
    for number, line in enumerate(coasts):
        for end in (line[0], line[-1]):
            ends.setdefault(_key(end), []).append(number)
    rings, used = list[Line](), set[int]()
    for number in range(len(coasts)):
        pieces, at = list[Line](), number
        while at not in used:
            used.add(at)
            line = coasts[at] if not pieces or _key(coasts[at][0]) == _key(pieces[-1][-1]) else coasts[at][::-1]
            pieces.append(line)
            at = next((other for other in ends[_key(line[-1])] if other not in used), at)
        if pieces:
            rings.append(_unwrapped(np.concatenate(pieces)))
    return rings


def _unwrapped(ring: Line) -> Line:
    """Return an outline without jumps over the date line; one around a pole is closed along the pole."""
    lon, lat = np.unwrap(ring[:, 0], period=360.0), ring[:, 1]
    if abs(lon[-1] - lon[0]) > 180.0:
        pole = np.sign(lat.mean()) * 90.0
        lon, lat = np.append(lon, [lon[-1], lon[0], lon[0]]), np.append(lat, [pole, pole, lat[0]])
    return np.stack([lon, lat], axis=1)


def _key(point: Line) -> tuple[float, float]:
    return round(float(point[0]), 6), round(float(point[1]), 6)


def _on_globe(lines: list[Line], area: Area, *, closed: bool = False) -> tuple[Line, ...]:
    """Return lines of the globe in the turn of an area, with less detail at a greater distance."""
    middle = 0.5 * (area.west + area.east)
    found = []
    for line in lines:
        for turn in (-360.0, 0.0, 360.0):
            shifted = line + np.array([turn, 0.0])
            if shifted[:, 0].min() > middle + 190.0 or shifted[:, 0].max() < middle - 190.0:
                continue
            thin = _thinned(shifted, area)
            if len(thin) > (3 if closed else 1):
                found.append(np.round(thin * _PARTS) / _PARTS)
    return tuple(found)


def _thinned(line: Line, area: Area) -> Line:
    """Return the points of a line that are far enough from the one before, and both ends."""
    away_x = np.maximum(np.maximum(area.west - line[:, 0], line[:, 0] - area.east), 0.0)
    away_y = np.maximum(np.maximum(area.south - line[:, 1], line[:, 1] - area.north), 0.0)
    fine = max(area.east - area.west, area.north - area.south) / _DETAIL
    least = (fine + _COARSER * np.hypot(away_x, away_y)).tolist()
    kept, (x, y) = [0], line[0].tolist()
    for index, (to_x, to_y) in enumerate(line.tolist()):
        if abs(to_x - x) + abs(to_y - y) > least[index]:
            kept.append(index)
            x, y = to_x, to_y
    return np.asarray(line[[*kept, *([] if kept[-1] == len(line) - 1 else [len(line) - 1])]])


def _on_projection(lines: list[Line], area: Area, *, closed: bool = False) -> tuple[Line, ...]:
    """Return lines on a projected map, within a circle around its area.

    An open line is cut at the circle; a closed one follows it, so that land that continues outside ends there.
    """
    centre, radius = _centre(area), _radius(area)
    fine = max(area.east - area.west, area.north - area.south) / _DETAIL
    found = list[Line]()
    for line in lines:
        longest = np.abs(np.diff(line, axis=0)).max(initial=0.0)
        if _polar(line, centre)[0].min() > radius + longest:
            continue
        points = dense(line)
        distance, bearing = _polar(points, centre)
        inside = distance < radius
        if not inside.any():
            continue
        if closed:
            pieces = [_from_polar(np.minimum(distance, radius), bearing, centre)]
        else:
            cut = np.split(points, np.flatnonzero(np.diff(inside)) + 1)
            pieces = cut[0 if inside[0] else 1 :: 2]
        for piece in pieces:
            placed = np.stack(area.mapping.from_lonlat(piece[:, 0], piece[:, 1]), axis=1)
            squares = np.round(placed / (fine * 2.0))
            kept = np.append(True, np.any(squares[1:] != squares[:-1], axis=1))
            kept[-1] |= closed
            if np.isfinite(placed).all() and kept.sum() > 1:
                found.append(placed[kept])
    return tuple(found)


def _centre(area: Area) -> tuple[float, float]:
    """Return longitude and latitude of the middle of an area [degrees]."""
    middle = np.array([0.5 * (area.west + area.east)]), np.array([0.5 * (area.south + area.north)])
    lon, lat = area.mapping.to_lonlat(*middle)
    return float(lon[0]), float(lat[0])


def _radius(area: Area) -> float:
    """Return the radius of the surroundings of a projected map [degrees]."""
    size = np.hypot(area.east - area.west, area.north - area.south) / area.per_degree
    return float(np.clip(2.0 * size, *_RADIUS))


def _polar(points: Line, centre: tuple[float, float]) -> tuple[Array, Array]:
    """Return the distance of points from a centre [degrees] and the bearing [radians]."""
    lon, lat = np.radians(points[:, 0] - centre[0]), np.radians(points[:, 1])
    lat0 = np.radians(centre[1])
    east = np.cos(lat) * np.sin(lon)
    north = np.sin(lat) * np.cos(lat0) - np.cos(lat) * np.sin(lat0) * np.cos(lon)
    up = np.sin(lat) * np.sin(lat0) + np.cos(lat) * np.cos(lat0) * np.cos(lon)
    return np.degrees(np.arctan2(np.hypot(east, north), up)), np.arctan2(east, north)


def _from_polar(distance: Array, bearing: Array, centre: tuple[float, float]) -> Line:
    """Return longitude and latitude [degrees] of points by their distance and bearing from a centre."""
    away, lat0 = np.radians(distance), np.radians(centre[1])
    sine = np.sin(lat0) * np.cos(away) + np.cos(lat0) * np.sin(away) * np.cos(bearing)
    east = np.sin(bearing) * np.sin(away) * np.cos(lat0)
    lon = np.arctan2(east, np.cos(away) - np.sin(lat0) * sine)
    return np.stack([centre[0] + np.degrees(lon), np.degrees(np.arcsin(np.clip(sine, -1.0, 1.0)))], axis=1)
