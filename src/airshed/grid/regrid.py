"""Conservative regridding of amounts per cell.

An amount that is uniform over a source cell is distributed over the target cells in proportion to the overlap,

    W[t, s] = |target_t and source_s| / |source_s|,     sum over t of W[t, s] = 1 where the target covers the source.

On a longitude-latitude grid the two axes separate if the latitude axis is sin(latitude), along which area is uniform;
heights are a third axis of the same kind. Cells of any other target are quadrilaterals in the plane of the source; a
cell with a corner at a pole has two corners there, at the longitudes of its neighbours.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import CaseError
from airshed.grid.grid import Grid
from airshed.grid.mapping import GridMapping, LonLat

_PAIRS_AT_ONCE = 20_000
_SLIVER = 1e-12
"""Fraction of a source cell that counts as round-off."""


def overlap_fractions(source_faces: Array, target_faces: Array) -> Array:
    """Return the fraction of each source interval in each target interval, shape (targets, sources).

    Both sets of faces ascend; parts of the source outside the target are in no row.
    """
    lower = np.maximum(target_faces[:-1, None], source_faces[None, :-1])
    upper = np.minimum(target_faces[1:, None], source_faces[None, 1:])
    return np.asarray(np.maximum(upper - lower, 0.0) / np.diff(source_faces))


@dataclass(frozen=True)
class _SparseMatrix:
    """Sparse matrix by entries; products are summed in a fixed order, independent of the machine.

    targets  rows with entries, of `rows` in total; first: start of the entries of each of them
    """

    rows: int
    targets: NDArray[np.intp]
    first: NDArray[np.intp]
    sources: NDArray[np.intp]
    weights: Array

    @classmethod
    def of(cls, matrix: Array) -> "_SparseMatrix":
        rows, sources = np.nonzero(matrix)
        return cls.of_entries(len(matrix), rows, sources, matrix[rows, sources])

    @classmethod
    def of_entries(
        cls, size: int, rows: NDArray[np.intp], sources: NDArray[np.intp], weights: Array
    ) -> "_SparseMatrix":
        """Return the matrix of entries with ascending rows."""
        targets, first = np.unique(rows, return_index=True)
        return cls(size, targets, first, sources, weights)

    def __call__(self, values: Array) -> Array:
        """Return the product of the matrix and values (source, ...)."""
        result = np.zeros((self.rows, *values.shape[1:]))
        if self.targets.size:
            parts = values[self.sources] * self.weights.reshape(-1, *[1] * (values.ndim - 1))
            result[self.targets] = np.add.reduceat(parts, self.first)
        return result


class Regridder:
    """Operator that aggregates amounts per source cell onto a grid, conserving their sum where the grids overlap.

    Longitudes that differ by a full turn are the same point.

    target_area  area of the target cells in the plane of the source [m2], (ny, nx)
    """

    def __init__(self, x_faces: Array, y_faces: Array, target: Grid, source: GridMapping | None = None) -> None:
        """``x_faces`` and ``y_faces`` ascend, in the coordinates of the source: longitude and latitude by default."""
        source = LonLat() if source is None else source
        self._shape = target.shape[1:]
        lonlat = isinstance(source, LonLat)
        self._separable = lonlat and target.mapping.separable
        y_even = _sines(y_faces) if lonlat else y_faces
        if self._separable:
            turn = 360.0 * np.round((np.mean(target.x_faces) - np.mean(x_faces)) / 360.0)
            turns = (turn, turn - 360.0, turn + 360.0)
            shares = [overlap_fractions(x_faces + each, target.x_faces) for each in turns]
            self._by_column = _SparseMatrix.of(shares[0] + shares[1] + shares[2])
            self._by_row = _SparseMatrix.of(overlap_fractions(y_even, _sines(target.y_faces)))
            self.target_area = target.cell_area
        else:
            x, y = source.from_lonlat(target.corner_lon, target.corner_lat)
            cells = _polygons(x, _sines(y) if lonlat else y, source.period, 1.0 if lonlat else 90.0)
            self._by_cell = _overlaps(cells, x_faces, y_even, source.period)
            scale = np.radians(1.0) * EARTH_RADIUS**2 if lonlat else 1.0
            self.target_area = scale * _area(cells).reshape(self._shape)

    def __call__(self, amount: Array) -> Array:
        """Return amounts per target cell, shape (..., target rows, target columns), for amounts per source cell."""
        if self._separable:
            by_row = self._by_row(np.moveaxis(amount, -2, 0))
            return np.ascontiguousarray(np.moveaxis(self._by_column(np.moveaxis(by_row, -1, 0)), (0, 1), (-1, -2)))
        outer = amount.shape[:-2]
        moved = self._by_cell(np.moveaxis(amount.reshape(*outer, -1), -1, 0))
        return np.ascontiguousarray(np.moveaxis(moved, 0, -1)).reshape(*outer, *self._shape)


def area_in_box(lon: tuple[float, float], lat: tuple[float, float], grid: Grid) -> tuple[Array, Array]:
    """Return the area of each cell between two longitudes and two latitudes, and that of the cell [m2]."""
    (west, east), (south, north) = np.radians(lon), np.radians(lat)
    move = Regridder(np.array(lon), np.array(lat), grid)
    area = EARTH_RADIUS**2 * (east - west) * (np.sin(north) - np.sin(south))
    return move(np.full((1, 1), area)), move.target_area


def _sines(lat_faces: Array) -> Array:
    sines: Array = np.sin(np.radians(lat_faces))
    return sines


def _polygons(x: Array, y: Array, period: float, pole: float) -> Array:
    """Return the corners of cells (cells, 4 or 5, 2), anticlockwise, with the longitudes of each cell on one turn.

    period, pole  of x, and value of y at the north pole; without a period there is no pole
    """
    corners = [np.stack([part[:-1, :-1], part[:-1, 1:], part[1:, 1:], part[1:, :-1]], axis=-1) for part in (x, y)]
    cells = np.stack(corners, axis=-1).reshape(-1, 4, 2)
    if np.isfinite(period):
        cells = _with_poles(cells, pole)
        steps = np.roll(cells[:, :, 0], -1, axis=1) - cells[:, :, 0]
        around = ((steps + 0.5 * period) % period - 0.5 * period).sum(axis=1)
        if np.any(np.abs(around) > 0.5 * period):
            raise CaseError("a cell of the grid contains a pole, onto which nothing can be regridded; move the grid")
        first = cells[:, :1, 0]
        cells[:, :, 0] = first + (cells[:, :, 0] - first + 0.5 * period) % period - 0.5 * period
    return cells


def _with_poles(cells: Array, pole: float) -> Array:
    """Return cells with each corner at a pole as two: a pole has every longitude, and is a line in the plane."""
    at_pole = np.abs(cells[..., 1]) > pole * (1.0 - _SLIVER)
    if not at_pole.any():
        return cells
    number = np.argmax(at_pole, axis=1)
    rows = np.arange(len(cells))
    # The corner comes last, then once more with the longitude of the first one; other cells repeat their last corner.
    turned = cells[rows[:, None], (number[:, None] + 1 + np.arange(4)) % 4]
    doubled = np.concatenate([turned, turned[:, -1:]], axis=1)
    polar = at_pole.any(axis=1)
    doubled[polar, 3, 0], doubled[polar, 4, 0] = doubled[polar, 2, 0], doubled[polar, 0, 0]
    return doubled


def _overlaps(cells: Array, x_faces: Array, y_faces: Array, period: float) -> _SparseMatrix:
    """Return the fraction of each source cell in each target cell."""
    low, high = cells.min(axis=1), cells.max(axis=1)
    turn = period * np.round((np.mean(cells[..., 0]) - np.mean(x_faces)) / period) if np.isfinite(period) else 0.0
    found = []
    for offset in (turn, turn - period, turn + period) if np.isfinite(period) else (0.0,):
        x = x_faces + offset
        for chosen, column, row in _pairs(low, high, x, y_faces):
            corner, opposite = np.stack([x[column], y_faces[row]], -1), np.stack([x[column + 1], y_faces[row + 1]], -1)
            share = _clipped_area(cells[chosen], corner, opposite) / np.prod(opposite - corner, axis=-1)
            kept = share > _SLIVER
            found.append((chosen[kept], (row * (x.size - 1) + column)[kept], share[kept]))
    targets, sources, shares = (
        (np.concatenate(each) for each in zip(*found, strict=True)) if found else [np.zeros(0)] * 3
    )
    order = np.lexsort((sources, targets))
    return _SparseMatrix.of_entries(
        len(cells), targets[order].astype(np.intp), sources[order].astype(np.intp), shares[order]
    )


def _pairs(low: Array, high: Array, x: Array, y: Array) -> Iterator[tuple[NDArray[np.intp], ...]]:
    """Yield target cells, with columns and rows of the source cells that intersect their bounding boxes."""
    ends = []
    for axis, faces in enumerate((x, y)):
        first = np.clip(np.searchsorted(faces, low[:, axis], side="right") - 1, 0, faces.size - 1)
        last = np.clip(np.searchsorted(faces, high[:, axis]), 0, faces.size - 1)
        ends.append((first, np.maximum(last - first, 0)))
    (left, width), (bottom, height) = ends
    counts = np.cumsum(width * height)
    total = int(counts[-1]) if counts.size else 0
    for begin in range(0, total, _PAIRS_AT_ONCE):
        pair = np.arange(begin, min(begin + _PAIRS_AT_ONCE, total))
        target = np.searchsorted(counts, pair, side="right")
        number = pair - (counts[target] - (width * height)[target])
        yield target, left[target] + number % width[target], bottom[target] + number // width[target]


def _clipped_area(cells: Array, low: Array, high: Array) -> Array:
    """Return the areas of polygons (n, corners, 2) clipped to rectangles.

    Edges are cut at the lines of the sides; then every point outside moves to the nearest point of the rectangle, which
    does not change the area inside.
    """
    step = np.roll(cells, -1, axis=1) - cells
    lines = np.concatenate([low, high], axis=1)[:, None]  # of x, y, x, y
    with np.errstate(divide="ignore", invalid="ignore"):
        cuts = (lines - np.tile(cells, 2)) / np.tile(step, 2)
    cuts = np.sort(np.clip(np.nan_to_num(cuts, nan=0.0), 0.0, 1.0), axis=-1)
    along = np.concatenate([np.zeros((*cuts.shape[:2], 1)), cuts], axis=-1)
    points = cells[:, :, None] + along[..., None] * step[:, :, None]
    points = np.clip(points, low[:, None, None], high[:, None, None])
    return np.maximum(_area(points.reshape(len(cells), -1, 2)), 0.0)


def _area(polygons: Array) -> Array:
    """Return the areas of polygons (n, corners, 2) with anticlockwise corners."""
    x, y = (polygons - polygons[:, :1]).transpose(2, 0, 1)
    return np.asarray(0.5 * np.sum(x * np.roll(y, -1, axis=1) - np.roll(x, -1, axis=1) * y, axis=1))
