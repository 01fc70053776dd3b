"""Nesting in one direction: the output of an outer run at the lateral face cells and in the cells of an inner grid."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError, DataError
from airshed.core.files import note_input
from airshed.core.text import listed
from airshed.grid import Grid
from airshed.grid.coordinates import around_meridian
from airshed.grid.mapping import LonLat
from airshed.grid.weights import PointWeights, Weights
from airshed.io.grid_file import FileGrid, grid_of_dataset
from airshed.models.air.boundary.field import cells_beyond
from airshed.models.air.weather.placement import clamped_matrix

if TYPE_CHECKING:
    import xarray as xr

_RATIO: Final = "mol mol-1"
_POINT: Final = "time: point"


class OuterGrid:
    """Grid of an outer run, from which fields are interpolated to points.

    The interpolation is bilinear in the coordinates of the grid, and linear in height. Beyond the centres of the
    outermost cells and layers their values hold.

    file     mapping, and the faces of the columns along x and y
    heights  of the centres of the layers [m]
    where    setting and outer run, for messages
    """

    def __init__(self, file: FileGrid, heights: Array, where: str) -> None:
        self.mapping, self._x_faces, self._y_faces = file
        self._heights, self._where = heights, where

    def to(self, lon: Array, lat: Array, heights: Array) -> Callable[[Array], Array]:
        """Return the interpolation of fields (..., level, y, x) to points [degrees] and heights [m].

        Its results are (..., level, *lon); its transpose is :meth:`transposed`.
        """
        at_points, vertical = self._weights(lon, lat), Weights.of(clamped_matrix(self._heights, heights))
        return lambda field: vertical(at_points(field), -1 - lon.ndim)

    def transposed(self, lon: Array, lat: Array, heights: Array) -> Callable[[Array], Array]:
        """Return the transpose of :meth:`to`: adjoints at the points (..., level, *lon) to those of fields."""
        at_points, vertical = self._weights(lon, lat), clamped_matrix(self._heights, heights)
        shape = self._y_faces.size - 1, self._x_faces.size - 1

        def spread(adjoint: Array) -> Array:
            levels = np.moveaxis(np.tensordot(vertical.T, adjoint, (1, adjoint.ndim - 1 - lon.ndim)), 0, -1 - lon.ndim)
            return at_points.transposed(levels, shape)

        return spread

    def check_inside(self, lon: Array, lat: Array) -> None:
        """Raise CaseError for points outside the grid."""
        (x, y), x_faces, y_faces = self._in_plane(lon, lat), self._x_faces, self._y_faces
        outside = (x < x_faces[0]) | (x > x_faces[-1]) | (y < y_faces[0]) | (y > y_faces[-1])
        if np.any(outside):
            first = np.flatnonzero(outside)[0]
            place = f"{np.ravel(lon)[first]:g} E, {np.ravel(lat)[first]:g} N"
            raise CaseError(
                f"{self._where}: {place}, in the inner grid or next to it, lies outside the outer "
                "grid; take a smaller inner grid"
            )

    def _weights(self, lon: Array, lat: Array) -> PointWeights:
        x, y = (0.5 * (faces[1:] + faces[:-1]) for faces in (self._x_faces, self._y_faces))
        at_x, at_y = self._in_plane(lon, lat)
        return PointWeights.in_plane(y, x, at_y, at_x)

    def _in_plane(self, lon: Array, lat: Array) -> tuple[Array, Array]:
        """Return the coordinates of points in the projection of the grid."""
        if isinstance(self.mapping, LonLat):
            lon = around_meridian(lon, float(self._x_faces.mean()))
        return self.mapping.from_lonlat(lon, lat)


def points_beyond(grid: Grid) -> tuple[Array, Array]:
    """Return longitudes and latitudes (cell, face) [degrees] of two cells beyond each lateral face of a grid."""
    near, far = (cells_beyond(grid, number) for number in (1, 2))
    return np.stack([near[0], far[0]]), np.stack([near[1], far[1]])


class OuterRun:
    """Mixing ratios of a run's output at other places, interpolated as by :class:`OuterGrid` and linearly in time.

    Parameters
    ----------
    path : Path
        Folder of the outer run, with any output strategy.
    species : sequence of str
        Species of the inner mechanism; `lacking` has the species that the output lacks.
    key : str
        Setting that names the run, for messages.

    Raises
    ------
    DataError
        For an output without species on all layers, or with means over time.
    """

    def __init__(self, path: Path, species: Sequence[str], key: str) -> None:
        from airshed.io.results import open_run
        from airshed.io.run_state import results

        self.path, self._key = path, key
        if (path / "case.toml").is_file() and not results(path, "output"):
            raise CaseError(
                f"{key} = {str(path)!r} is the folder of a case, not of a run: run both together with airshed run "
                "OUTER NEST, or name the folder of its results"
            )
        dataset = open_run(path)
        for result in results(path, "output"):
            for file in sorted(result.rglob("*")) if result.is_dir() else [result]:
                if file.is_file():
                    note_input(file)
        self.species = tuple(
            name for name in species if name in dataset and dataset[name].attrs.get("units", _RATIO) == _RATIO
        )
        self.lacking = tuple(name for name in species if name not in self.species)
        if not self.species:
            raise DataError(f"{key} = {str(path)!r}: its output has no species of the mechanism")
        first = dataset[self.species[0]]
        if "level" not in first.dims:
            raise DataError(f'{key} = {str(path)!r}: its output has no layers; write all: output.levels = "all"')
        bounds = np.asarray(dataset["level_bnds"], np.float64)
        if bounds[0, 0] != 0.0 or not np.array_equal(bounds[1:, 0], bounds[:-1, 1]) or len(bounds) < 2:
            raise DataError(f'{key} = {str(path)!r}: its output lacks layers; write all: output.levels = "all"')
        if first.attrs.get("cell_methods", _POINT) != _POINT:
            raise DataError(f'{key} = {str(path)!r}: its output is a mean over time; write statistic = "point"')
        self._dataset, heights = dataset, np.asarray(dataset["level"], np.float64)
        self.grid = OuterGrid(grid_of_dataset(dataset, path), heights, f"{key} = {str(path)!r}")
        self.times = dataset["time"].values.astype("datetime64[ns]")
        self._records: dict[int, dict[str, Array]] = {}

    @property
    def interval(self) -> float:
        """Shortest time between two records [s]; infinite for a single record."""
        return float(np.diff(self.times).min() / np.timedelta64(1, "s")) if self.times.size > 1 else float("inf")

    def covers(self, start: np.datetime64, end: np.datetime64) -> bool:
        """Return whether the output covers a period; its last interval may extend beyond its last record."""
        first, last = self.times[0], self.times[-1]
        interval = last - self.times[-2] if self.times.size > 1 else np.timedelta64(0, "s")
        return bool(first <= start and last + interval >= end)

    def at_points(self, when: np.datetime64, lon: Array, lat: Array, heights: Array) -> dict[str, Array]:
        """Return the species (level, ...) [mol/mol] at points [degrees] and heights [m] at a time."""
        interpolate = self.grid.to(lon, lat, heights)
        (number, other), (after, share) = self.records_at(when)
        before, later = self._record(number), self._record(after)
        found = {name: other * before[name] + share * later[name] for name in self.species}
        return {name: interpolate(values) for name, values in found.items()}

    def records_at(self, when: np.datetime64) -> tuple[tuple[int, float], tuple[int, float]]:
        """Return the numbers and weights of the two records between which a time lies."""
        number = int(np.clip(np.searchsorted(self.times, when, side="right") - 1, 0, max(self.times.size - 2, 0)))
        after = min(number + 1, self.times.size - 1)
        length = (self.times[after] - self.times[number]) / np.timedelta64(1, "s")
        share = 0.0 if length == 0.0 else (when - self.times[number]) / np.timedelta64(1, "s") / length
        share = float(np.clip(share, 0.0, 1.0))
        return (number, 1.0 - share), (after, share)

    def _record(self, number: int) -> dict[str, Array]:
        """Return the species of a record (level, y, x); the newest two are stored."""
        if number not in self._records:
            while len(self._records) > 1:
                del self._records[min(self._records)]
            y, x = self.grid.mapping.dims
            record = self._dataset[list(self.species)].isel(time=number).transpose("level", y, x).sortby([y, x])
            self._records[number] = {name: np.asarray(record[name], np.float64) for name in self.species}
        return self._records[number]


class NestedBoundary:
    """Function of the seconds since the start that returns an outer run at the lateral face cells of a grid."""

    def __init__(self, outer: OuterRun, grid: Grid, start: np.datetime64, length: float) -> None:
        self._outer, self._grid, self._start = outer, grid, start.astype("datetime64[ns]")
        end = self._start + np.timedelta64(round(length * 1e9), "ns")
        if not outer.covers(self._start, end):
            raise CaseError(
                f"boundary.run = {str(outer.path)!r} has output from {outer.times[0]:.19} to {outer.times[-1]:.19}; "
                f"the case needs {self._start:.19} to {end:.19}"
            )
        self._lon, self._lat = points_beyond(grid)
        outer.grid.check_inside(self._lon[0], self._lat[0])

    def __call__(self, seconds: float) -> "xr.Dataset":
        """Return the species on level, cell and face at a time [s since the start]: of two cells beyond each face."""
        import xarray as xr

        when = self._start + np.timedelta64(round(seconds * 1e9), "ns")
        found = self._outer.at_points(when, self._lon, self._lat, self._grid.level)
        dims = "level", "cell", "face"
        return xr.Dataset({name: (dims, np.maximum(values, 0.0)) for name, values in found.items()})

    @property
    def interval(self) -> float:
        """Time between the records of the outer run [s]: the boundary follows each of them."""
        return self._outer.interval

    @property
    def note(self) -> str:
        """Origin of the boundary concentrations."""
        others = f"; from the profiles: {listed(self._outer.lacking)}" if self._outer.lacking else ""
        return f"read: {len(self._outer.species)} species of {self._outer.path}{others}"


def initial_of_run(path: Path, species: Sequence[str], grid: Grid, start: np.datetime64) -> "xr.Dataset":
    """Return the species of a run's output at the start of a case in the cells of a grid, bilinear and linear."""
    import xarray as xr

    outer = OuterRun(path, species, "initial.run")
    if not outer.times[0] <= start <= outer.times[-1]:
        raise CaseError(
            f"initial.run = {str(path)!r} has output from {outer.times[0]} to {outer.times[-1]}, but not at {start}"
        )
    outer.grid.check_inside(grid.lon, grid.lat)
    found = outer.at_points(start.astype("datetime64[ns]"), grid.lon, grid.lat, grid.level)
    return xr.Dataset({name: (("level", *grid.dims), np.maximum(values, 0.0)) for name, values in found.items()})
