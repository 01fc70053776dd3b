"""The fine grid on which national totals are spread out, and the exact share of a country in each of its cells."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from airshed.core.constants import EARTH_RADIUS
from airshed.core.topojson import Polygon, Ring

Array = NDArray[np.float64]

SPACING = 0.05
"""Size of a fine cell [degrees]: 5.6 km in latitude, 3-4 km in longitude, the size of a town."""


@dataclass(frozen=True)
class Window:
    """A box of the fine grid, in whole cells counted from 0 E, 0 N."""

    west: int
    south: int
    nlon: int
    nlat: int

    @classmethod
    def around(cls, polygons: Iterable[Polygon], margin: float) -> Self:
        """The smallest window that holds the polygons and a margin [degrees] around them."""
        points = np.concatenate([polygon[0] for polygon in polygons])
        west, south = np.floor((points.min(axis=0) - margin) / SPACING).astype(int)
        east, north = np.ceil((points.max(axis=0) + margin) / SPACING).astype(int)
        return cls(int(west), int(south), int(east - west), int(north - south))

    @cached_property
    def lon_faces(self) -> Array:
        """Longitudes of the faces [degrees], shape (nlon + 1,)."""
        return np.arange(self.west, self.west + self.nlon + 1, dtype=np.float64) * SPACING

    @cached_property
    def lat_faces(self) -> Array:
        """Latitudes of the faces [degrees], shape (nlat + 1,)."""
        return np.arange(self.south, self.south + self.nlat + 1, dtype=np.float64) * SPACING

    @cached_property
    def area(self) -> Array:
        """Areas of the cells [m2], shape (nlat, 1)."""
        sines = np.sin(np.radians(self.lat_faces))
        return np.asarray(EARTH_RADIUS**2 * np.radians(SPACING) * np.diff(sines))[:, None]

    @cached_property
    def cell_size(self) -> tuple[float, float]:
        """Mean size of a cell along longitude and latitude [km]."""
        north = EARTH_RADIUS * 1e-3 * np.radians(SPACING)
        return float(north * np.cos(np.radians(self.lat_faces.mean()))), float(north)

    def cells(self, lon: Array, lat: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Row and column of the cells that hold the points; they may lie outside the window."""
        rows = np.floor(lat / SPACING).astype(np.int64) - self.south
        columns = np.floor(lon / SPACING).astype(np.int64) - self.west
        return rows, columns


def coverage(polygons: Iterable[Polygon], window: Window) -> Array:
    """The exact share [0..1] of each cell that the polygons cover, shape (nlat, nlon), in the lon-lat plane.

    Green's theorem, cell by cell: a piece of border that climbs by dv at the mean position u within column i covers
    dv (i + 1 - u) of its own cell and dv of every cell to its right. So all pieces are cut at the cell faces, added up
    per cell, and summed along each row. Polygons must not overlap.
    """
    rings = [_oriented(ring, clockwise=index == 0) for polygon in polygons for index, ring in enumerate(polygon)]
    start = np.concatenate([ring[:-1] for ring in rings]) / SPACING - (window.west, window.south)
    step = np.concatenate([np.diff(ring, axis=0) for ring in rings]) / SPACING
    segment, first, last = _pieces(start, step)
    middle = start[segment] + 0.5 * (first + last)[:, None] * step[segment]
    climb = (last - first) * step[segment, 1]
    u, row = np.maximum(middle[:, 0], 0.0), np.floor(middle[:, 1]).astype(np.int64)
    kept = (row >= 0) & (row < window.nlat) & (u < window.nlon) & (climb != 0.0)
    u, row, climb = u[kept], row[kept], climb[kept]
    column = np.floor(u).astype(np.int64)
    cell, width = row * (window.nlon + 1) + column, window.nlon + 1
    cover = np.bincount(cell, climb * (column + 1 - u), window.nlat * width)
    cover += np.bincount(cell + 1, climb * (u - column), window.nlat * width)
    share = np.cumsum(cover.reshape(window.nlat, width), axis=1)[:, :-1]
    share[share < 1e-9] = 0.0  # round-off of the sums
    return np.minimum(share, 1.0)


def _oriented(ring: Ring, *, clockwise: bool) -> Ring:
    lon, lat = ring.T
    is_clockwise = np.sum(lon[:-1] * lat[1:] - lon[1:] * lat[:-1]) < 0.0
    return ring if is_clockwise == clockwise else ring[::-1]


def _pieces(start: Array, step: Array) -> tuple[NDArray[np.int64], Array, Array]:
    """Cut each segment where it crosses a face: the segment of each piece and the part [first, last] of it."""
    segments = np.arange(len(start))
    cuts = [_crossings(start[:, axis], step[:, axis]) for axis in (0, 1)]
    segment = np.concatenate([segments, segments, *(of for of, _ in cuts)])
    part = np.concatenate([np.zeros(len(start)), np.ones(len(start)), *(where for _, where in cuts)])
    order = np.lexsort((part, segment))
    segment, part = segment[order], part[order]
    whole = segment[1:] == segment[:-1]
    return segment[:-1][whole], part[:-1][whole], part[1:][whole]


def _crossings(start: Array, step: Array) -> tuple[NDArray[np.int64], Array]:
    """Where segments cross whole numbers along one axis: the segment and the part of its length [0..1]."""
    end = start + step
    low = np.floor(np.minimum(start, end)).astype(np.int64) + 1
    count = np.maximum(np.ceil(np.maximum(start, end)).astype(np.int64) - low, 0)
    segment = np.repeat(np.arange(len(start)), count)
    number = np.arange(segment.size) - np.repeat(np.cumsum(count) - count, count)
    return segment, (low[segment] + number - start[segment]) / step[segment]
