"""Coverage by polygons on a fine longitude-latitude grid: the exact covered fraction of each cell."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import CaseError
from airshed.core.topojson import Polygon, Ring
from airshed.grid.grid import Grid
from airshed.grid.regrid import Regridder, area_in_box

SPACING = 0.05
"""Size of a fine cell [degrees]: 5.6 km in latitude, 3-4 km in longitude, the size of a town."""


@dataclass(frozen=True)
class FineWindow:
    """Window of the fine grid, in whole cells counted from 0 E, 0 N."""

    west: int
    south: int
    nlon: int
    nlat: int

    @classmethod
    def around(cls, polygons: Iterable[Polygon], margin: float) -> Self:
        """Return the smallest window that contains the polygons and a margin [degrees] around them."""
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

    @property
    def centres(self) -> tuple[Array, Array]:
        """Longitudes (nlon,) and latitudes (nlat,) of the cells [degrees]."""
        lon, lat = self.lon_faces, self.lat_faces
        return 0.5 * (lon[1:] + lon[:-1]), 0.5 * (lat[1:] + lat[:-1])

    def regridder(self, grid: Grid) -> Regridder:
        """Return the operator that regrids amounts per cell onto a grid."""
        return Regridder(self.lon_faces, self.lat_faces, grid)

    def meets(self, polygon: Polygon) -> bool:
        """Return whether the bounding box of a polygon intersects the window."""
        (left, right), (bottom, top) = box_around(polygon)
        lon, lat = self.lon_faces, self.lat_faces
        return bool(right > lon[0] and top > lat[0] and left < lon[-1] and bottom < lat[-1])

    def cells(self, lon: Array, lat: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return row and column of the cells that contain the points, which may be outside the window."""
        rows = np.floor(lat / SPACING).astype(np.int64) - self.south
        columns = np.floor(lon / SPACING).astype(np.int64) - self.west
        return rows, columns


def coverage(polygons: Iterable[Polygon], window: FineWindow) -> Array:
    """Return the exact fraction [0..1] of each cell that the polygons cover, shape (nlat, nlon), in the lon-lat plane.

    The method is Green's theorem, applied cell by cell. A piece of border rises by dv at the mean position u within
    column i. It covers dv (i + 1 - u) of its own cell, and dv of every cell to the right. All pieces are cut at the
    cell faces, added per cell, and summed along each row. Polygons must not overlap.
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


def box_around(polygon: Polygon) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the minimum and maximum longitude and latitude of a polygon [degrees]."""
    (west, south), (east, north) = polygon[0].min(axis=0).tolist(), polygon[0].max(axis=0).tolist()
    return (west, east), (south, north)


def outline_shares(polygons: Sequence[Polygon], grid: Grid) -> Array:
    """Return the fraction of each cell of a grid that an outline covers (ny, nx)."""
    window = FineWindow.around(polygons, 0.0)
    move = window.regridder(grid)
    return np.asarray(move(coverage(polygons, window) * window.area) / move.target_area)


def box_shares(lon: tuple[float, float], lat: tuple[float, float], grid: Grid, key: str) -> Array:
    """Return the fraction of each cell (ny, nx) between two longitudes and two latitudes [degrees].

    For a point, or a line along an axis, the cells that contain it count fully. Raises CaseError, with the key of the
    setting, if the box extends beyond the grid.
    """
    if not grid.mapping.separable:
        corners = grid.contains(np.array([lon[0], lon[1], lon[0], lon[1]]), np.array([lat[0], lat[0], lat[1], lat[1]]))
        if not corners.all():
            raise CaseError(f"{key}.lon = {list(lon)}, {key}.lat = {list(lat)} is not within the case, {grid}")
        if lon[0] < lon[1] and lat[0] < lat[1]:
            inside, whole = area_in_box(lon, lat, grid)
            return inside / whole
        shares = np.zeros(grid.shape[1:])
        along = np.linspace(0.0, 1.0, 2 * sum(grid.shape[1:]))
        shares[grid.cells_at(lon[0] + along * (lon[1] - lon[0]), lat[0] + along * (lat[1] - lat[0]))] = 1.0
        return shares
    (west, east), (first, last) = lon, grid.x_faces[[0, -1]]
    turn = next((each for each in (0.0, 360.0, -360.0) if east + each >= first and west + each <= last), 0.0)
    across = _shares_between(grid.y_faces, lat, f"{key}.lat")
    return across[:, None] * _shares_between(grid.x_faces, (west + turn, east + turn), f"{key}.lon")[None, :]


def _shares_between(faces: Array, ends: tuple[float, float], key: str) -> Array:
    """Return the fraction of each cell along an axis between two ends; for a point 1 in the cell that contains it."""
    first, last = ends
    if first < faces[0] or last > faces[-1]:
        raise CaseError(f"{key} = {list(ends)} is not within the case, {faces[0]:g} to {faces[-1]:g}")
    if first == last:
        shares = np.zeros(len(faces) - 1)
        shares[min(int(np.searchsorted(faces, first, side="right")) - 1, len(shares) - 1)] = 1.0
        return shares
    inside = np.minimum(faces[1:], last) - np.maximum(faces[:-1], first)
    return np.asarray(np.maximum(inside, 0.0) / np.diff(faces))


def _oriented(ring: Ring, *, clockwise: bool) -> Ring:
    lon, lat = ring.T
    is_clockwise = np.sum(lon[:-1] * lat[1:] - lon[1:] * lat[:-1]) < 0.0
    return ring if is_clockwise == clockwise else ring[::-1]


def _pieces(start: Array, step: Array) -> tuple[NDArray[np.int64], Array, Array]:
    """Cut each segment at the faces; return the segment of each piece and its range [first, last] along the segment."""
    segments = np.arange(len(start))
    cuts = [_crossings(start[:, axis], step[:, axis]) for axis in (0, 1)]
    segment = np.concatenate([segments, segments, *(of for of, _ in cuts)])
    part = np.concatenate([np.zeros(len(start)), np.ones(len(start)), *(where for _, where in cuts)])
    order = np.lexsort((part, segment))
    segment, part = segment[order], part[order]
    whole = segment[1:] == segment[:-1]
    return segment[:-1][whole], part[:-1][whole], part[1:][whole]


def _crossings(start: Array, step: Array) -> tuple[NDArray[np.int64], Array]:
    """Return the crossings of segments with whole numbers along one axis: segment and position along it [0..1]."""
    end = start + step
    low = np.floor(np.minimum(start, end)).astype(np.int64) + 1
    count = np.maximum(np.ceil(np.maximum(start, end)).astype(np.int64) - low, 0)
    segment = np.repeat(np.arange(len(start)), count)
    number = np.arange(segment.size) - np.repeat(np.cumsum(count) - count, count)
    return segment, (low[segment] + number - start[segment]) / step[segment]
