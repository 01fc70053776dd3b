"""Graticule of a projected map: meridians and parallels, with labels where they meet the edge of the map."""

from math import ceil, floor
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from airshed.core.arrays import Array
from airshed.plot import units
from airshed.plot.geography import Area, Line
from airshed.plot.limits import round_step
from airshed.plot.style import INK, SIZE, halo

_POINTS: Final = 200


def degree_ticks(first: float, last: float) -> list[float]:
    """Return a few round degrees well inside a range, so that the labels of neighbouring maps do not touch."""
    span = last - first
    step = next((s for s in (10.0, 15.0, 30.0, 45.0, 60.0, 90.0) if 25 < span <= 6 * s), None) or round_step(span, 5)
    margin = 0.03 * span
    return [k * step for k in range(ceil((first + margin) / step), floor((last - margin) / step) + 1)]


def draw_graticule(axes: Axes, area: Area) -> None:
    """Draw meridians and parallels over a projected map, and label them at its lower and left edge."""
    meridians, parallels = ticks_of(area)
    lines = [_line(area, lon, None) for lon in meridians] + [_line(area, None, lat) for lat in parallels]
    drawn = LineCollection(lines, colors=INK, linewidths=0.4, alpha=0.35, zorder=2.3)
    axes.add_collection(drawn, autolim=False)
    lower, left = _edges_of(area)
    along_x = [(x, units.longitude(lon)) for lon in meridians for x in _crossings(*lower[:2], lon, 360.0)]
    along_y = [(y, units.latitude(lat)) for lat in parallels for y in _crossings(left[0], left[2], lat)]
    if area.bounds[1] - area.bounds[0] >= 360.0:  # over a pole parallels are circles inside the map
        along_y = [(y, units.longitude(lon)) for lon in meridians for y in _crossings(*left[:2], lon, 360.0)]
        _label_circles(axes, area, parallels)
    if axes.xaxis.get_visible():
        axes.set_xticks([x for x, _ in along_x], [text for _, text in along_x])
    if axes.yaxis.get_visible():
        axes.set_yticks([y for y, _ in along_y], [text for _, text in along_y])


def ticks_of(area: Area) -> tuple[list[float], list[float]]:
    """Return the longitudes and latitudes [degrees] of the lines of a map."""
    west, east, south, north = area.bounds
    if east - west < 360.0:
        return degree_ticks(west, east), degree_ticks(south, north)
    step = round_step(north - south, 4)
    lats = [k * step for k in range(ceil(south / step), floor(north / step) + 1) if abs(k * step) < 90.0]
    return [30.0 * k for k in range(-6, 6)], lats


def _line(area: Area, lon: float | None, lat: float | None) -> Line:
    """Return a meridian or a parallel in the coordinates of the map, NaN outside of it."""
    west, east, south, north = area.bounds
    along = np.linspace(0.0, 1.0, _POINTS)
    lons = west + along * (east - west) if lon is None else np.full(_POINTS, lon)
    lats = south + along * (north - south) if lat is None else np.full(_POINTS, lat)
    x, y = area.mapping.from_lonlat(lons, lats)
    reach = 2.0 * (area.east - area.west)
    middle = 0.5 * (area.west + area.east)
    if area.mapping.unit == "degrees":
        x = middle - 180.0 + (x - middle + 180.0) % 360.0
    return np.stack([np.where(np.abs(x - middle) < reach, x, np.nan), y], axis=1)


def _edges_of(area: Area) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
    """Return positions on the lower and on the left edge, each with longitude and latitude."""
    lon, lat = area.edge
    side = (lon.size - 1) // 4
    x, y = np.linspace(area.west, area.east, side + 1), np.linspace(area.south, area.north, side + 1)
    return (x, lon[: side + 1], lat[: side + 1]), (y, lon[: 3 * side - 1 : -1], lat[: 3 * side - 1 : -1])


def _crossings(places: Array, values: Array, wanted: float, period: float = np.inf) -> list[float]:
    """Return the positions at which values along an edge pass a given one."""
    away = values - wanted
    if np.isfinite(period):
        away = away - period * np.round(away / period)
    passes = (np.sign(away[:-1]) != np.sign(away[1:])) & (np.abs(np.diff(away)) < 90.0)
    at = np.flatnonzero(passes)
    return [float(places[k] - away[k] * (places[k + 1] - places[k]) / (away[k + 1] - away[k])) for k in at]


def _label_circles(axes: Axes, area: Area, parallels: list[float]) -> None:
    """Write latitudes next to circles, along the vertical line through the pole."""
    pole = np.asarray([90.0 if np.mean(area.edge[1]) > 0.0 else -90.0])
    x = float(area.mapping.from_lonlat(np.zeros(1), pole)[0][0])
    y = np.linspace(area.south, area.north, _POINTS)
    lat = area.mapping.to_lonlat(np.full(_POINTS, x), y)[1]
    for each in parallels:
        for place in _crossings(y, lat, each)[:1]:
            axes.text(x, place, units.latitude(each), fontsize=SIZE["tiny"], ha="center", va="center", color=INK,
                      path_effects=halo(), zorder=4, clip_on=True)  # fmt: skip
