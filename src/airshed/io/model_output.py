"""Output of other models on their own grid: times, places, levels and values of a netCDF file or a Dataset.

One reader for all layouts: the axes of a variable are its time, its two horizontal dimensions and one further one,
which is the vertical. Files of WRF and of the I/O API have their times and projection in attributes of their own.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.data import kind, numbers
from airshed.core.errors import DataError
from airshed.core.files import note_input
from airshed.grid.coordinates import around_meridian, periodic_nodes, to_degrees, unique_longitudes
from airshed.grid.mapping import GridMapping, LonLat, directions
from airshed.grid.scattered import ScatteredWeights
from airshed.grid.weights import PointWeights
from airshed.io.grid_file import FileGrid, ioapi_grid, is_projected, on_grid, standard_name, wrf_grid
from airshed.io.model_levels import Levels, levels_of
from airshed.io.netcdf import open_netcdf, reading
from airshed.io.wrf import wrf_times

if TYPE_CHECKING:
    import xarray as xr

_TIMES: Final = ("time", "valid_time", "Time", "Times", "TSTEP")
_NEVER_DROPPED: Final = (
    *_TIMES, "VAR", "DATE-TIME", "DateStrLen", "level", "lev", "plev", "pressure_level", "model_level", "hybrid", "LAY",
    "bottom_top",
)  # fmt: skip
"""Dimensions that may have the size 1."""
_MOST: Final = 1e30
"""Magnitude of marks of missing values that a file does not declare."""
_SAME: Final = 1e-6
CONSTANT: Final = "airshed_constant"
"""Attribute of a Dataset whose single level stands for all heights."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """Points of the horizontal grid of a file, in rising order.

    mapping        map projection of x and y
    dims           names of the dimensions, y and x; empty for a file without them, whose values hold everywhere
    y, x           [degrees or m]; a full circle of longitudes has one more point at either end
    rows, columns  index of each point in the file
    """

    mapping: GridMapping
    dims: tuple[str, ...]
    y: Array
    x: Array
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]

    def check(self, lon: Array, lat: Array, where: str) -> None:
        """Raise DataError for points [degrees] that are further than half a cell from the nodes."""
        if not self.dims:
            return
        lon, x, y = self._within(lon, lat)
        outside = _beyond(self.x, x) | _beyond(self.y, y)
        if np.any(outside):
            first = np.flatnonzero(outside)[0]
            place = f"{np.ravel(lon)[first]:g} E, {np.ravel(lat)[first]:g} N"
            raise DataError(
                f"{where} covers {self.dims[1]} {self.x[0]:g} to {self.x[-1]:g} and {self.dims[0]} {self.y[0]:g} to "
                f"{self.y[-1]:g}; {place}, in the grid of the case or next to it, is outside. Give a larger part"
            )

    def at(self, lon: Array, lat: Array) -> "PointReader":
        """Return the reader at points [degrees]: bilinear, with the nearest values beyond the nodes."""
        if not self.dims:
            still = np.zeros(lon.shape)
            return _BilinearReader(self, PointWeights(still.astype(np.intp), still.astype(np.intp), still, still))
        _, x, y = self._within(lon, lat)
        return _BilinearReader(self, PointWeights.in_plane(self.y, self.x, y, x))

    def _within(self, lon: Array, lat: Array) -> tuple[Array, Array, Array]:
        """Return longitudes on the turn of the nodes, and x and y of points."""
        if isinstance(self.mapping, LonLat):
            lon = around_meridian(lon, 0.5 * (self.x[0] + self.x[-1]))
        return lon, *self.mapping.from_lonlat(lon, lat)


class PointReader(Protocol):
    """Reader of variables of a file at points within its grid."""

    def of(self, variable: "xr.Variable") -> Array:
        """Return a variable (..., y, x) of a file at the points."""
        ...


@dataclass(frozen=True, eq=False)
class _BilinearReader:
    """Reader at points between the nodes of two axes."""

    nodes: Nodes
    weights: PointWeights

    def of(self, variable: "xr.Variable") -> Array:
        """Return a variable (..., y, x) of a file at the points, from the rectangle of nodes around them."""
        nodes, weights = self.nodes, self.weights
        if not set(nodes.dims) & set(variable.dims):
            values = numbers(variable.values, "its values")
            return np.broadcast_to(values.reshape(*values.shape, *[1] * weights.south.ndim),
                                   (*values.shape, *weights.south.shape))  # fmt: skip
        first = int(weights.south.min()), int(weights.west.min())
        last = int(weights.south.max()) + 2, int(weights.west.max()) + 2
        places = [index[low:high] for index, low, high in zip((nodes.rows, nodes.columns), first, last, strict=True)]
        cut = [slice(int(each.min()), int(each.max()) + 1) for each in places]
        part = variable.isel(dict(zip(nodes.dims, cut, strict=True)))
        values = numbers(part.transpose(..., *nodes.dims).values, "its values")
        rows, columns = (each - each.min() for each in places)
        inside = PointWeights(weights.south - first[0], weights.west - first[1], weights.to_north, weights.to_east)
        return inside(values[..., rows[:, None], columns])


@dataclass(frozen=True, eq=False)
class ScatteredNodes:
    """Points of a file whose longitudes and latitudes (y, x) [degrees] have two dimensions."""

    dims: tuple[str, ...]
    lat: Array
    lon: Array

    def check(self, lon: Array, lat: Array, where: str) -> None:
        """Raise DataError for points [degrees] that are not between the nodes."""
        inside = ScatteredWeights.of(self.lat, self.lon, lat, lon).inside
        if not inside.all():
            first = np.flatnonzero(~inside)[0]
            place = f"{np.ravel(lon)[first]:g} E, {np.ravel(lat)[first]:g} N"
            raise DataError(
                f"{where} does not surround {place}, in the grid of the case or next to it. Give a larger part"
            )

    def at(self, lon: Array, lat: Array) -> PointReader:
        """Return the reader at points [degrees]: linear in triangles, with the nearest value beyond the nodes."""
        weights = ScatteredWeights.of(self.lat, self.lon, lat, lon)
        nodes = directions(self.lon, self.lat).reshape(-1, 3)
        for point in map(tuple, np.argwhere(~weights.inside)):
            weights.corners[point] = np.argmax(nodes @ directions(lon[point], lat[point]))
            weights.weight[point] = 1.0, 0.0, 0.0
        return _ScatteredReader(self.dims, weights)


@dataclass(frozen=True, eq=False)
class _ScatteredReader:
    """Reader at points between scattered nodes."""

    dims: tuple[str, ...]
    weights: ScatteredWeights

    def of(self, variable: "xr.Variable") -> Array:
        """Return a variable (..., y, x) of a file at the points."""
        return self.weights(numbers(variable.transpose(..., *self.dims).values, "its values"))


def _beyond(nodes: Array, points: Array) -> NDArray[np.bool_]:
    """Return which points are further than half a cell from the nodes."""
    if nodes.size == 1:
        return np.zeros(points.shape, np.bool_)
    low, high = nodes[0] - 0.5 * (nodes[1] - nodes[0]), nodes[-1] + 0.5 * (nodes[-1] - nodes[-2])
    margin = _SAME * (high - low)
    return np.asarray((points < low - margin) | (points > high + margin))


class ModelOutput:
    """Fields of a file or a Dataset: their times, their places and their levels.

    Parameters
    ----------
    dataset : xarray.Dataset
        Content, read lazily.
    where : str
        Name of the file, for messages.
    layers : array, optional
        Heights of layers above ground [m], which a dimension `level` without a unit may count or repeat.

    Attributes
    ----------
    times : array of datetime64, or None
        Times of the records, UTC; of an average with bounds its middle. None for fields without time.
    nodes : Nodes or ScatteredNodes
        Horizontal grid.

    Raises
    ------
    DataError
        For a file whose times or places cannot be read.
    """

    def __init__(
        self, dataset: "xr.Dataset", where: str, path: Path | None = None, layers: Array | None = None
    ) -> None:
        self.where, self._path, self._layers = where, path or Path(where), layers
        single = [dim for dim, size in dataset.sizes.items() if size == 1 and dim not in _NEVER_DROPPED]
        dataset = dataset.isel(dict.fromkeys(single, 0))
        if "PERIM" in dataset.dims:
            raise DataError(
                f"{where} is a boundary file of CMAQ, along the edge of its own grid; give the concentrations on the "
                "whole grid (CONC or ACONC)"
            )
        with self._reading("its axes"):
            self.time_dim, self.times = _times(dataset, where)
            self.dataset, self.nodes = _with_nodes(dataset, self._path)
        self._levels: dict[str, Levels] = {}

    @classmethod
    def open(cls, path: Path) -> "ModelOutput":
        """Return the output in a netCDF file."""
        dataset = open_netcdf(note_input(path))
        return cls(dataset, str(path), path)

    @property
    def is_constant(self) -> bool:
        """Return whether the values of a single level are meant for all heights."""
        return bool(self.dataset.attrs.get(CONSTANT, False))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables with numbers on more than one dimension or on levels."""
        coordinates = {*map(str, self.dataset.coords), *self.nodes.dims}
        return tuple(
            str(name)
            for name, each in self.dataset.variables.items()
            if str(name) not in coordinates and each.dtype.kind in "fiu" and self._vertical(each.dims) is not None
        )

    def unit(self, name: str) -> str:
        """Return the unit of a variable as the file has it."""
        return str(self.dataset.variables[name].attrs.get("units", "")).strip()

    def vertical(self, name: str) -> str | None:
        """Return the vertical dimension of a variable; None for one without exactly one."""
        return self._vertical(self.dataset.variables[name].dims)

    def _vertical(self, dims: Sequence[Hashable]) -> str | None:
        """Return the only dimension in addition to time and the horizontal ones."""
        others = [str(dim) for dim in dims if dim != self.time_dim and dim not in self.nodes.dims]
        return others[0] if len(others) == 1 and set(self.nodes.dims) <= set(dims) else None

    def levels(self, dim: str) -> Levels:
        """Return the vertical coordinate along a dimension."""
        if dim not in self._levels:
            with self._reading(dim):
                found = self._of_layers(dim)
                self._levels[dim] = levels_of(self.dataset, dim, self.where) if found is None else found
        return self._levels[dim]

    def _of_layers(self, dim: str) -> Levels | None:
        """Return the given layers for a dimension without a unit that has their heights or their numbers from 0."""
        layers, variable = self._layers, self.dataset.variables.get(dim)
        if layers is None or self.dataset.sizes[dim] != layers.size:
            return None
        places = np.arange(layers.size) if variable is None else np.asarray(variable.values)
        if variable is not None and (variable.attrs.get("units") or variable.dtype.kind not in "fiu"):
            return None
        alike = any(np.allclose(places, each) for each in (layers, np.arange(layers.size)))
        return Levels(heights=layers) if alike else None

    def at(self, name: str, record: int, reader: PointReader) -> Array:
        """Return a variable at points (level, ...), or (...) without levels, in the order of the file; NaN is missing.

        record  index of the time; ignored by a variable without time
        reader  from :meth:`Nodes.at`
        """
        with self._reading(f"variable {name}"):
            variable = self.dataset.variables[name]
            if self.time_dim in variable.dims:
                variable = variable.isel({self.time_dim: record})
            dim = self._vertical(variable.dims)
            variable = variable.transpose(dim, ...) if dim is not None else variable
            values = reader.of(variable)
        return np.where(np.abs(values) < _MOST, values, np.nan)

    def _reading(self, what: str) -> Any:
        return reading(self._path, what.format)

    def close(self) -> None:
        """Close the file."""
        self.dataset.close()


def _times(dataset: "xr.Dataset", where: str) -> tuple[str, NDArray[np.datetime64] | None]:
    """Return the name of the dimension of time, and the times of the records."""
    if "Times" in dataset.variables:
        return "Time", np.array(list(wrf_times(dataset, Path(where))), "datetime64[ns]")
    if "TFLAG" in dataset.variables:
        return "TSTEP", ioapi_times(dataset.variables["TFLAG"].values[:, 0])
    named = [
        name for name, each in dataset.variables.items()
        if each.dtype.kind == "M" or each.attrs.get("standard_name") == "time" or str(name) in _TIMES
    ]  # fmt: skip
    found = [name for name in named if dataset.variables[name].ndim == 1]
    if not found:
        several = [name for name in named if dataset.variables[name].ndim > 1]
        if several:
            raise DataError(f"{where}: its times {several[0]} have several dimensions; give a file per forecast")
        return "", None
    name = "valid_time" if "valid_time" in found else found[0]
    coordinate = dataset.variables[name]
    bounds = dataset.variables.get(coordinate.attrs.get("bounds", ""))
    stamps = _dates(coordinate.values, f"{where}: {name}")
    if bounds is not None and bounds.ndim == 2 and bounds.dtype.kind == "M":
        begin, end = (_dates(bounds.values[:, side], f"{where}: {name}") for side in (0, 1))
        stamps = begin + (end - begin) / 2
    return str(coordinate.dims[0]), stamps


def _dates(values: NDArray[Any], where: str) -> NDArray[np.datetime64]:
    """Return times of any calendar as dates."""
    if values.dtype.kind == "O" and all(hasattr(each, "isoformat") for each in values):  # calendars without leap days
        values = np.array([each.isoformat() for each in values], "datetime64[ns]")
    if values.dtype.kind != "M" or np.isnat(values).any():
        raise DataError(f"{where} holds {kind(values.dtype)}; times need a unit such as 'hours since 2022-01-01'")
    return values.astype("datetime64[ns]")


def ioapi_times(flags: NDArray[np.integer[Any]]) -> NDArray[np.datetime64]:
    """Return the times of the flags TFLAG of the I/O API (record, 2): YYYYDDD and HHMMSS."""
    days, clock = flags[:, 0].astype(np.int64), flags[:, 1].astype(np.int64)
    dates = (days // 1000 - 1970).astype("datetime64[Y]").astype("datetime64[D]") + (days % 1000 - 1)
    seconds = clock // 10000 * 3600 + clock // 100 % 100 * 60 + clock % 100
    return np.asarray(dates.astype("datetime64[s]") + seconds, "datetime64[ns]")


def _with_nodes(dataset: "xr.Dataset", path: Path) -> tuple["xr.Dataset", Nodes | ScatteredNodes]:
    """Return a dataset and its horizontal grid: of a projection, or of longitudes and latitudes."""
    if "MAP_PROJ" in dataset.attrs:
        return dataset, _uniform(wrf_grid(dataset, path, 0), ("south_north", "west_east"))
    if "GDTYP" in dataset.attrs:
        return dataset, _uniform(ioapi_grid(dataset.attrs, path), ("ROW", "COL"))
    if is_projected(dataset):
        dataset, grid = on_grid(dataset, path)
        return dataset, _uniform(grid, grid.mapping.dims)
    return dataset, _lonlat(dataset, str(path))


def _uniform(grid: FileGrid, dims: tuple[str, str]) -> Nodes:
    """Return the centres of a grid of uniform cells."""
    y, x = (0.5 * (faces[1:] + faces[:-1]) for faces in (grid.y_faces, grid.x_faces))
    return Nodes(grid.mapping, dims, y, x, np.arange(y.size), np.arange(x.size))


def _lonlat(dataset: "xr.Dataset", where: str) -> Nodes | ScatteredNodes:
    """Return the points of longitudes and latitudes: two axes with any distances, or points of two dimensions."""
    found: dict[str, str] = {}
    for name, variable in dataset.variables.items():
        found.setdefault(standard_name(str(name), variable.attrs), str(name))
    axes = [found.get(each, "") for each in ("latitude", "longitude")]
    sizes = [dataset.variables[name].ndim if name else 0 for name in axes]
    if sizes == [0, 0]:
        return Nodes(LonLat(), (), np.zeros(1), np.zeros(1), np.zeros(1, np.intp), np.zeros(1, np.intp))
    if sizes not in ([1, 1], [2, 2]):
        raise DataError(f"{where}: its latitudes have {sizes[0]} and its longitudes {sizes[1]} dimensions; give 1 or 2")
    if sizes == [2, 2]:
        places = (numbers(dataset.variables[name].values, f"{where}: {name}") for name in axes)
        return ScatteredNodes(tuple(map(str, dataset.variables[axes[0]].dims)), *places)
    lat, lon = (to_degrees(name, dataset.variables[name].values, dataset.variables[name].attrs, where) for name in axes)
    rows, columns = np.argsort(lat), np.argsort(lon)
    columns = columns[unique_longitudes(lon[columns])]
    x, circle = lon[columns], periodic_nodes(lon[columns])
    if circle is not None:
        columns, x = columns[circle[0]], circle[1]
    dims = tuple(str(dataset.variables[name].dims[0]) for name in axes)
    return Nodes(LonLat(), dims, lat[rows], x, rows, columns)
