"""Horizontal geometry of files of gridded emission, and the conservative way from it to the grid of a case.

Files have a longitude-latitude grid, a map projection (CF grid mapping, WRF, I/O API), two-dimensional longitudes and
latitudes, or a list of sources at points.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.core.data import numbers
from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.coordinates import around_meridian, faces_around, to_degrees, unique_longitudes
from airshed.grid.mapping import GridMapping, directions
from airshed.grid.regrid import Regridder
from airshed.io.grid_file import FileGrid, dataset_grid

if TYPE_CHECKING:
    import xarray as xr

Move = Callable[[Array], Array]
"""Amounts per cell of the file (..., rows, columns) -> amounts per cell of the grid (..., ny, nx)."""

_NAMES: Final = {
    "lat": ("lat", "latitude", "lats", "nav_lat", "latitudes"),
    "lon": ("lon", "longitude", "lons", "nav_lon", "longitudes"),
}  # fmt: skip
_UNITS: Final = {"lat": ("degrees_north", "degree_north"), "lon": ("degrees_east", "degree_east")}
_POINTS: Final = ("longitude_source", "latitude_source")
_UNSTRUCTURED: Final = ("ncells", "cell", "cells", "ncol", "values")
_FINEST: Final = 16
"""Most parts of a cell along one side, when a cell of a curvilinear grid is distributed."""


@dataclass(frozen=True, eq=False)
class SourceGrid:
    """Cells of a file.

    dims    dimensions of a field, rows and columns; one for a list of sources
    order   indices that bring the two axes into ascending order, without a repeated meridian
    area    of the cells [m2], (rows, columns)
    move    conservative regridding of amounts per cell
    covered fraction of the area of the grid that the cells cover
    extent  in words
    lon, lat  of the cells [degrees], (rows, columns)
    """

    dims: tuple[str, ...]
    order: tuple[NDArray[np.intp], NDArray[np.intp]]
    area: Array
    move: Move
    covered: float
    extent: str
    lon: Array
    lat: Array

    def ordered(self, values: Array) -> Array:
        """Return a field (..., *dims) as (..., rows, columns) in ascending order."""
        rows, columns = self.order
        if len(self.dims) == 1:
            return values[..., None, :]
        if _is_range(rows) and _is_range(columns):
            return values[..., rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        return values[..., rows[:, None], columns]

    def near(self, grid: Grid, chosen: NDArray[np.bool_]) -> tuple[int, int]:
        """Return row and column of one chosen cell, inside the grid if there is one."""
        places = np.argwhere(chosen)
        rows, columns = places.T
        inside = np.flatnonzero(grid.contains(self.lon[rows, columns], self.lat[rows, columns]))
        row, column = places[inside[0] if inside.size else 0].tolist()
        return row, column


def read_source_grid(dataset: "xr.Dataset", grid: Grid, where: str) -> SourceGrid:
    """Return the cells of a file; raise DataError for a file without a known horizontal grid."""
    if all(name in dataset.variables for name in _POINTS):
        return _of_points(dataset, grid, where)
    if {"MAP_PROJ", "GDTYP"} & set(dataset.attrs) or any(
        "grid_mapping_name" in each.attrs for each in dataset.variables.values()
    ):
        file = dataset_grid(dataset, Path(where))
        if file.mapping.unit == "m" or not file.mapping.separable:
            return _of_projection(dataset, file, grid, where)
    axes = {axis: coordinate_name(dataset, axis) for axis in ("lat", "lon")}
    if all(name and dataset[name].ndim == 2 for name in axes.values()):
        return _of_curves(dataset, axes, grid, where)
    return _of_lonlat(dataset, axes, grid, where)


def coordinate_name(dataset: "xr.Dataset", axis: str) -> str:
    """Return the name of the coordinate of latitude ("lat") or longitude ("lon"), by its name or its units."""
    for name, variable in dataset.variables.items():
        if (
            str(name).casefold() in _NAMES[axis]
            and variable.ndim in (1, 2)
            and (variable.ndim == 2 or variable.dims == (name,))
        ):
            return str(name)
    for name, variable in dataset.variables.items():
        units, standard_name = (str(variable.attrs.get(key, "")) for key in ("units", "standard_name"))
        is_axis = units in _UNITS[axis] or standard_name == _NAMES[axis][1]
        if is_axis and (variable.ndim == 2 or variable.dims == (name,)) and not str(name).endswith(("bnds", "bounds")):
            return str(name)
    return ""


def _of_lonlat(dataset: "xr.Dataset", axes: dict[str, str], grid: Grid, where: str) -> SourceGrid:
    """Return the cells between one-dimensional longitudes and latitudes, with faces half-way between the centres."""
    degrees = {}
    for axis, name in axes.items():
        if not name and any(str(dim).casefold() in _UNSTRUCTURED for dim in dataset.sizes):
            raise DataError(
                f"{where} has cells of an unstructured grid; regrid it to longitude and latitude first, such as by "
                "cdo remapcon"
            )
        if not name or dataset[name].dims != (name,) or dataset[name].size < 2:
            raise DataError(f"{where} needs a coordinate {axis!r} with at least two values")
        degrees[axis] = to_degrees(axis, dataset[name].values, dataset[name].attrs, where)
    west, east, *_ = grid.bounds
    lon, lat = around_meridian(degrees["lon"], 0.5 * (west + east)), degrees["lat"]
    rows, columns = np.argsort(lat, kind="stable"), np.argsort(lon, kind="stable")
    columns = columns[unique_longitudes(lon[columns])]
    lon, lat = lon[columns].astype(np.float64), lat[rows].astype(np.float64)
    meridians, parallels = faces_around(lon), np.clip(faces_around(lat), -90.0, 90.0)
    strips = EARTH_RADIUS**2 * np.diff(np.sin(np.radians(parallels)))
    area = np.outer(strips, np.radians(np.diff(meridians)))
    move = Regridder(meridians, parallels, grid)
    covered = float(move(area).sum() / move.target_area.sum())
    cells = np.meshgrid(lon, lat)
    return SourceGrid(
        (axes["lat"], axes["lon"]), (rows, columns), area, move, covered, extent(lon, lat), cells[0], cells[1]
    )


def _of_projection(dataset: "xr.Dataset", file: FileGrid, grid: Grid, where: str) -> SourceGrid:
    """Return the cells of a map projection."""
    cells = file.mapping.metrics(file.x_faces, file.y_faces)
    dims = _plane_dims(dataset, cells.lon.shape, where)
    order = [np.arange(size) for size in cells.lon.shape]
    for number, dim in enumerate(dims):
        if dim in dataset.coords and dataset[dim].ndim == 1 and dataset[dim].dtype.kind in "fiu":
            order[number] = np.argsort(dataset[dim].values, kind="stable")
    move = Regridder(file.x_faces, file.y_faces, grid, file.mapping)
    plane = np.outer(np.diff(file.y_faces), np.diff(file.x_faces))
    covered = _covered_in_plane(file.mapping, move, plane)
    return SourceGrid(
        dims, (order[0], order[1]), cells.cell_area, move, covered, extent(cells.lon, cells.lat), cells.lon, cells.lat
    )


def _covered_in_plane(mapping: GridMapping, move: Regridder, plane: Array) -> float:
    """Return the fraction of the target's area that is covered, in the plane of the projection."""
    return float(move(plane).sum() / np.abs(move.target_area).sum())


def _plane_dims(dataset: "xr.Dataset", shape: tuple[int, ...], where: str) -> tuple[str, str]:
    """Return the names of the dimensions of rows and columns: the last two of most variables."""
    found: dict[tuple[str, str], int] = {}
    for variable in dataset.variables.values():
        if variable.ndim >= 2 and variable.shape[-2:] == shape:
            pair = (str(variable.dims[-2]), str(variable.dims[-1]))
            found[pair] = found.get(pair, 0) + 1
    if not found:
        raise DataError(f"{where} has no variable of {shape[0]} rows and {shape[1]} columns, the size of its grid")
    return max(found, key=lambda pair: found[pair])


def _of_curves(dataset: "xr.Dataset", axes: dict[str, str], grid: Grid, where: str) -> SourceGrid:
    """Return the cells around two-dimensional longitudes and latitudes.

    Corners are the means of four centres. A cell is distributed as parts much smaller than the cells of the grid, each
    to the cell that contains it, which conserves the amount.
    """
    lat, lon = (numbers(dataset[axes[axis]].values, f"{where}: its {axes[axis]}") for axis in ("lat", "lon"))
    if lat.shape != lon.shape or min(lat.shape) < 2:
        raise DataError(f"{where}: its {axes['lat']} and {axes['lon']} differ in shape or have fewer than two points")
    points = directions(lon, lat)
    corners = _corners(points)
    size = float(np.sqrt(np.median(grid.cell_area))) / EARTH_RADIUS
    own = float(np.median(np.linalg.norm(np.diff(points, axis=1), axis=-1)))
    parts = int(np.clip(np.ceil(8.0 * own / size), 2, _FINEST))
    share = (np.arange(parts) + 0.5) / parts
    targets, sources = [], []
    number = np.arange(lat.size).reshape(lat.shape)
    for up in share:
        for across in share:
            place = (
                (1 - up) * ((1 - across) * corners[:-1, :-1] + across * corners[:-1, 1:])
                + up * ((1 - across) * corners[1:, :-1] + across * corners[1:, 1:])
            )  # fmt: skip
            found = _cells_of(place, grid)
            targets.append(found[found >= 0])
            sources.append(number[found >= 0])
    move = _scatter(np.concatenate(targets), np.concatenate(sources), 1.0 / parts**2, grid)
    area = _areas(corners)
    order = (np.arange(lat.shape[0]), np.arange(lat.shape[1]))
    covered = np.unique(np.concatenate(targets)).size / float(np.prod(grid.shape[1:]))
    dims = str(dataset[axes["lat"]].dims[0]), str(dataset[axes["lat"]].dims[1])
    return SourceGrid(dims, order, area, move, covered, extent(lon, lat), lon, lat)


def _of_points(dataset: "xr.Dataset", grid: Grid, where: str) -> SourceGrid:
    """Return the sources of a list: points, and boxes of the size of its cells for area sources."""
    lon, lat = (numbers(dataset[name].values, f"{where}: its {name}") for name in _POINTS)
    (dim,) = dataset[_POINTS[0]].dims
    is_area = _area_sources(dataset, lon.size, where)
    half = [_half_size(dataset, axis) if is_area.any() else 0.0 for axis in ("lon", "lat")]
    parts = 1 if half == [0.0, 0.0] else _FINEST
    steps = (2.0 * (np.arange(parts) + 0.5) / parts - 1.0) if parts > 1 else np.zeros(1)
    targets, sources = [], []
    for up in steps:
        for across in steps:
            place = directions(lon + across * half[0] * is_area, lat + up * half[1] * is_area)
            found = _cells_of(place, grid)
            targets.append(found[found >= 0])
            sources.append(np.flatnonzero(found >= 0))
    move = _scatter(np.concatenate(targets), np.concatenate(sources), 1.0 / parts**2, grid)
    covered = 1.0 if np.concatenate(targets).size else 0.0
    order = (np.arange(1), np.arange(lon.size))
    return SourceGrid((str(dim),), order, np.ones((1, lon.size)), move, covered, extent(lon, lat), lon[None], lat[None])


def _area_sources(dataset: "xr.Dataset", size: int, where: str) -> NDArray[np.bool_]:
    """Return which sources of a list are the emission of a whole cell, by their type code a."""
    names = ("source_type_index", "source_type_code")
    if not all(name in dataset.variables for name in names):
        return np.zeros(size, bool)
    codes = [text(each) for each in np.ravel(dataset[names[1]].values)]
    index = zero_based(dataset[names[0]].values, len(codes), where)
    return np.array([codes[each].startswith("a") for each in index], bool)


def zero_based(index: NDArray[Any], size: int, where: str) -> NDArray[np.intp]:
    """Return the positions in a list of codes of indices that count from 1, or from 0 if one is 0; raise DataError."""
    position = np.asarray(index, np.intp)
    position = position - (0 if position.size and position.min() == 0 else 1)
    if position.size and not (position.min() >= 0 and position.max() < size):
        raise DataError(f"{where}: an index of its sources is outside its {size} codes; correct the file")
    return position


def _half_size(dataset: "xr.Dataset", axis: str) -> float:
    """Return half of the size of a cell of the list [degrees]."""
    name = coordinate_name(dataset, axis)
    return 0.5 * float(np.median(np.abs(np.diff(dataset[name].values)))) if name and dataset[name].size > 1 else 0.0


def _cells_of(points: Array, grid: Grid) -> NDArray[np.intp]:
    """Return the number of the cell of the grid that contains each point (..., 3); -1 outside."""
    lon = np.degrees(np.arctan2(points[..., 1], points[..., 0]))
    lat = np.degrees(np.arctan2(points[..., 2], np.hypot(points[..., 0], points[..., 1])))
    row, column = grid.cells_at(lon, lat)
    return np.where(grid.contains(lon, lat), row * grid.shape[2] + column, -1)


def _scatter(targets: NDArray[np.intp], sources: NDArray[np.intp], share: float, grid: Grid) -> Move:
    """Return the operator that adds shares of sources to cells."""
    cells = int(np.prod(grid.shape[1:]))

    def move(amount: Array) -> Array:
        flat = amount.reshape(-1, amount.shape[-2] * amount.shape[-1])
        found = np.stack([np.bincount(targets, share * each[sources], cells) for each in flat])
        return np.asarray(found.reshape(*amount.shape[:-2], *grid.shape[1:]))

    return move


def _corners(points: Array) -> Array:
    """Return corners (rows + 1, columns + 1, 3) around the centres of cells as unit vectors."""
    padded = np.pad(points, ((1, 1), (1, 1), (0, 0)), mode="reflect", reflect_type="odd")
    corners = 0.25 * (padded[1:, 1:] + padded[:-1, 1:] + padded[1:, :-1] + padded[:-1, :-1])
    return np.asarray(corners / np.linalg.norm(corners, axis=-1, keepdims=True))


def _areas(corners: Array) -> Array:
    """Return the areas of small cells [m2], from their diagonals."""
    first, second = corners[1:, 1:] - corners[:-1, :-1], corners[1:, :-1] - corners[:-1, 1:]
    return np.asarray(0.5 * EARTH_RADIUS**2 * np.linalg.norm(np.cross(first, second), axis=-1))


def text(value: Any) -> str:
    """Return a character array or bytes as text."""
    return (value.decode(errors="replace") if isinstance(value, bytes) else str(value)).strip().strip("\0")


def extent(lon: Array, lat: Array) -> str:
    """Return the extent of an area, for messages."""
    return f"{np.min(lon):g} to {np.max(lon):g} E, {np.min(lat):g} to {np.max(lat):g} N"


def _is_range(indices: NDArray[np.intp]) -> bool:
    return bool(np.all(np.diff(indices) == 1))
