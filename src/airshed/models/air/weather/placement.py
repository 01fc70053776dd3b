"""Interpolation of data to the cells and faces of a part of the model grid: areas, weights, fields of a Dataset."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.data import conversion, numbers
from airshed.core.errors import DataError
from airshed.core.text import counted, number
from airshed.grid import Grid
from airshed.grid.coordinates import check_places, to_degrees
from airshed.grid.weights import PointWeights, Weights, apply
from airshed.grid.window import Window
from airshed.models.air.weather.fields import Range

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Area:
    """Columns of a grid that a meteorology computes, and the requested columns.

    whole   grid of the case
    window  computed columns: one more on each side than requested, since the density at a face is the mean of both
            cells
    grid    part of the whole grid in the window
    `asked`   requested columns, by their indices in the window
    """

    whole: Grid
    window: Window
    grid: Grid
    asked: Window

    @classmethod
    def of(cls, whole: Grid, window: Window | None) -> "Area":
        """Return the area of a window, or that of the whole grid."""
        everything = Window.whole(*whole.shape[1:])
        asked = everything if window is None else window
        around = asked.grown(1, *whole.shape[1:])
        return cls(whole, around, whole if around == everything else whole.part(around), asked.within(around))

    def places(self, where: str) -> tuple[Array, Array]:
        """Return latitude and longitude of the computed cells, or of their "east" or "north" faces."""
        axis = {"east": "x", "north": "y"}.get(where, "")
        at_x, at_y = self.whole.face_centres
        lon, lat = at_x if axis == "x" else at_y if axis == "y" else (self.whole.lon, self.whole.lat)
        return self.window.of_faces(lat, axis), self.window.of_faces(lon, axis)

    def wind_along(self, axis: str, east: Array, north: Array) -> Array:
        """Return the wind along "x" or "y" at the faces that it crosses, from its components there."""
        turn = self.window.of_faces(self.whole.wind_rotation[axis == "y"], axis)
        ahead, aside = (east, north) if axis == "x" else (north, -east)
        return np.asarray(np.cos(turn) * ahead + np.sin(turn) * aside)

    def land(self, given: Array | None) -> Array:
        """Return the land fraction of the computed columns from that of the whole grid; 1 for None."""
        return np.ones(self.grid.shape[1:]) if given is None else np.ascontiguousarray(self.window.of(given))


def interpolation_matrix(nodes: Array, points: Array) -> Array:
    """Return W (points, nodes): ``W @ values`` is the linear interpolant at the points, extrapolated beyond the ends.

    A field with a single node is constant.
    """
    weights = np.zeros((points.size, nodes.size))
    if nodes.size == 1:
        weights[:, 0] = 1.0
        return weights
    left = np.clip(np.searchsorted(nodes, points, side="right") - 1, 0, nodes.size - 2)
    fraction = (points - nodes[left]) / (nodes[left + 1] - nodes[left])
    rows = np.arange(points.size)
    weights[rows, left] = 1.0 - fraction
    weights[rows, left + 1] = fraction
    return weights


def clamped_matrix(nodes: Array, points: Array) -> Array:
    """Return the interpolation matrix with constant values beyond the ends."""
    return interpolation_matrix(nodes, np.clip(points, nodes[0], nodes[-1]))


def averaging_matrix(nodes: Array, edges: Array) -> Array:
    """Return W (edges - 1, nodes): ``W @ values`` is the mean of the linear interpolant between neighbouring edges."""
    if nodes.size == 1:
        return np.ones((edges.size - 1, 1))
    widths = np.diff(nodes)
    upto_node = np.zeros((nodes.size, nodes.size))
    for k, width in enumerate(widths):
        upto_node[k + 1] = upto_node[k]
        upto_node[k + 1, k : k + 2] += 0.5 * width
    left = np.clip(np.searchsorted(nodes, edges, side="right") - 1, 0, nodes.size - 2)
    step = edges - nodes[left]
    fraction = step / widths[left]
    upto_edge = upto_node[left]
    rows = np.arange(edges.size)
    upto_edge[rows, left] += step * (1.0 - 0.5 * fraction)
    upto_edge[rows, left + 1] += step * 0.5 * fraction
    return np.asarray(np.diff(upto_edge, axis=0) / np.diff(edges)[:, None])


_TOLERANCE = 1e-4


# Interpolation of a field of a Dataset to the points of a part of the model grid.


_DIMENSIONS = {
    "time": "time", "valid_time": "time", "level": "level", "lev": "level", "height": "level", "z": "level",
    "lat": "lat", "latitude": "lat", "lon": "lon", "longitude": "lon",
    "lat_face": "lat_face", "lon_face": "lon_face", "level_face": "level_face",
    "y": "y", "x": "x", "y_face": "y_face", "x_face": "x_face",
}  # fmt: skip
_LOWEST = 2000.0
_NUMBERED = frozenset({"", "1", "level", "levels", "layer", "layers"})
"""Units of a coordinate ``level`` that may be the indices of layers."""


class PlacedField(NamedTuple):
    """Values along standard dimensions, time first, with the coordinates of the dimensions that have one."""

    dims: tuple[str, ...]
    values: NDArray[np.float64]
    coords: Mapping[str, NDArray[Any]] = MappingProxyType({})

    @property
    def sizes(self) -> dict[str, int]:
        """Number of values along each dimension."""
        return dict(zip(self.dims, self.values.shape, strict=True))

    def at_time(self, index: int) -> "PlacedField":
        """Return the values of one time."""
        return PlacedField(self.dims[1:], self.values[index], self.coords)


def in_unit_of_the_model(name: str, field: "xr.DataArray", unit: str) -> "xr.DataArray":
    """Return the field in the model's unit, from the unit in its attribute ``units``, such as degC or hPa.

    Raises DataError for a unit that cannot be converted; without the attribute the field is in the model's unit.
    """
    change = conversion(field.attrs, unit, f"the meteorology's {name}")
    if not change.changes:
        return field
    return (field * change.factor + change.offset).assign_attrs({**field.attrs, "units": unit})


def check_values(name: str, field: PlacedField, allowed: Range) -> None:
    """Raise DataError with the first location of values that are not finite or out of range."""
    values = field.values
    low, high, unit = allowed
    where, finite = f"the meteorology's {name}", np.isfinite(values)
    if not np.all(finite):
        raise DataError(f"{where} has NaN or infinite values{_first(field, ~finite)}; fill them or cut them off")
    if name == "obukhov_length" and np.any(values == 0.0):
        raise DataError(
            f"{where} has the value 0{_first(field, values == 0.0)}; neutral air has a large one, such as 1e6 m"
        )
    if values.size and not low <= values.min() <= values.max() <= high:
        raise DataError(
            f"{where} is {values.min():g} to {values.max():g}, outside {low:g} to {high:g} {unit}"
            f"{_first(field, (values < low) | (values > high))}; check its values and unit"
        )


def _first(field: PlacedField, wrong: NDArray[np.bool_]) -> str:
    """Return the location of the first invalid value, and their number; empty for a field of one value."""
    if not field.dims:
        return ""
    indices = np.argwhere(wrong)
    places = [
        f"{dim} {_shown(field.coords[dim][index]) if dim in field.coords else int(index)}"
        for dim, index in zip(field.dims, indices[0], strict=True)
    ]
    return f", first at {', '.join(places)} ({counted(len(indices), 'value')})"


def _shown(value: Any) -> str:
    return str(value.astype("datetime64[m]")) if isinstance(value, np.datetime64) else f"{float(value):g}"


def standard_dims(name: object, field: "xr.DataArray") -> "xr.DataArray":
    """Return the field with the model's dimension names and order, increasing coordinates, and type float64."""
    unknown = [str(dim) for dim in field.dims if str(dim) not in _DIMENSIONS]
    if unknown:
        raise DataError(
            f"the meteorology's {name} has a dimension {unknown[0]!r}; use time, level, lat, lon, lat_face or lon_face"
        )
    field = field.rename({dim: _DIMENSIONS[str(dim)] for dim in field.dims if _DIMENSIONS[str(dim)] != dim})
    order = ("time", "level", "level_face", "lat", "lat_face", "y", "y_face", "lon", "lon_face", "x", "x_face")
    field = field.transpose(*[dim for dim in order if dim in field.dims])
    known = [dim for dim in order[1:] if dim in field.coords and dim[0] not in "xy"]
    places = {dim: _places(f"the meteorology's {name}", dim, field[dim]) for dim in known}
    field = field.assign_coords({dim: (dim, values) for dim, values in places.items() if dim in field.dims})
    for dim in ("lat", "lon", "level"):
        if dim in field.coords and dim in field.dims and field.sizes[dim] > 1:
            field = field.sortby(dim)
    return field.astype(np.float64)


def _places(where: str, dim: str, coordinate: "xr.DataArray") -> Array:
    """Return the values of a coordinate in degrees or metres, from its unit; raises DataError for invalid ones."""
    values = np.atleast_1d(coordinate.values)
    if dim.startswith(("lat", "lon")):
        return to_degrees(dim, values, coordinate.attrs, where)
    heights = numbers(values, f"{where}: its {dim}")
    names = " ".join(str(coordinate.attrs.get(key, "")) for key in ("standard_name", "long_name"))
    if "pressure" in names or "sigma" in names or str(coordinate.attrs.get("positive", "up")).lower() == "down":
        raise DataError(f"{where}: its {dim} is not a height above ground; give heights in m, or interpolate to them")
    if str(coordinate.attrs.get("units", "")).strip().lower() not in _NUMBERED:
        change = conversion(coordinate.attrs, "m", f"{where}: its {dim}")
        heights = change.factor * heights + change.offset if change.changes else heights
    check_places(dim, heights, where)
    return heights


def onto(area: Area, name: str, field: PlacedField, where: str) -> Array:
    """Return a field (level, lat, lon) at the points ``where`` of the part of the grid in use."""
    grid, window = area.whole, area.window
    if not grid.mapping.separable and {"lat", "lon"} & set(field.dims):
        values = _at_places(area, name, field, where)
    else:
        y, x = grid.dims
        values = _with_axes(field, ("level", "level_face"), (y, f"{y}_face"), (x, f"{x}_face"))
        rows = _weights(_Targets(y, grid.y, grid.y_faces, where == "north"), name, field, window.rows)
        columns = _weights(_Targets(x, grid.x, grid.x_faces, where == "east"), name, field, window.columns)
        values = apply(rows, values, columns)
    if where == "surface":
        if values.shape[0] != 1:
            raise DataError(f"the meteorology's {name} has levels; give it only on lat and lon")
        return np.asarray(values[0])
    return _along_height(grid, name, field, values, where)


def _with_axes(field: PlacedField, *axes: tuple[str, str]) -> Array:
    """Return the values of a field with an axis of length 1 for each missing pair of dimensions."""
    values: Array = field.values
    for position, dims in enumerate(axes):
        if not set(dims) & set(field.dims):
            values = np.expand_dims(values, position)
    return values


def _at_places(area: Area, name: str, field: PlacedField, where: str) -> Array:
    """Return a field on latitudes and longitudes at the cells or faces of a grid with other axes."""
    (west, east, south, north), nodes = area.whole.bounds, {}
    for dim, low, high in (("lat", south, north), ("lon", west, east)):
        nodes[dim] = field.coords[dim].astype(np.float64) if dim in field.coords else np.full(1, low)
        some = nodes[dim] + 360.0 * np.round((0.5 * (low + high) - nodes[dim].mean()) / 360.0) * (dim == "lon")
        if dim in field.dims and not some[0] - _TOLERANCE <= low <= high <= some[-1] + _TOLERANCE:
            raise DataError(f"the meteorology's {name} does not cover {dim} {low:g} to {high:g} of the grid")
    values = _with_axes(field, ("level", "level_face"), ("lat", "lat"), ("lon", "lon"))
    return PointWeights.of(nodes["lat"], nodes["lon"], *area.places(where))(values)


class _Targets(NamedTuple):
    """Horizontal axis of the whole grid, with its faces or cells as targets."""

    dim: str
    centres: Array
    faces: Array
    at_faces: bool


def _weights(axis: _Targets, name: str, field: PlacedField, cells: slice) -> Weights:
    """Return the weights of a field along an axis, for some cells of the whole grid or their faces."""
    targets = slice(cells.start, cells.stop + axis.at_faces)
    if f"{axis.dim}_face" in field.dims:
        if not axis.at_faces:
            raise DataError(f"the meteorology's {name} cannot be on {axis.dim}_face; give it at the cell centres")
        size = field.sizes[f"{axis.dim}_face"]
        if size != axis.faces.size:
            raise DataError(
                f"the meteorology's {name} has {size} values along {axis.dim}_face, the grid {axis.faces.size} faces"
            )
        return Weights.same(size).part(targets)
    if axis.dim not in field.dims:
        return Weights.one_node(axis.faces.size).part(targets)
    nodes = _nodes(name, field, axis.dim, axis.centres)
    if axis.at_faces:
        return Weights.of(interpolation_matrix(nodes, axis.faces)).part(targets)
    if nodes.size == axis.centres.size and np.allclose(nodes, axis.centres, rtol=0.0, atol=_TOLERANCE):
        return Weights.same(nodes.size).part(targets)
    inside = nodes[0] <= axis.faces[0] + _TOLERANCE and nodes[-1] >= axis.faces[-1] - _TOLERANCE
    matrix = averaging_matrix(nodes, axis.faces) if inside else interpolation_matrix(nodes, axis.centres)
    return Weights.of(matrix).part(targets)


def _nodes(name: str, field: PlacedField, dim: str, centres: Array) -> Array:
    """Return the coordinate of a horizontal dimension, and check that it covers the cell centres."""
    if dim not in field.coords:
        if field.sizes[dim] == centres.size:
            return centres
        raise DataError(
            f"the meteorology's {name} has {field.sizes[dim]} values along {dim} and no coordinate, "
            f"the grid has {centres.size}; add the coordinate"
        )
    nodes = field.coords[dim].astype(np.float64)
    if dim == "lon":
        nodes = nodes + 360.0 * np.round((centres.mean() - nodes.mean()) / 360.0)
    if nodes.size > 1 and (nodes[0] > centres[0] + _TOLERANCE or nodes[-1] < centres[-1] - _TOLERANCE):
        raise DataError(
            f"the meteorology's {name} covers {dim} {nodes[0]:g} to {nodes[-1]:g}, the grid's cells are at "
            f"{centres[0]:g} to {centres[-1]:g}; give data for the whole grid"
        )
    return nodes


def _along_height(grid: Grid, name: str, field: PlacedField, values: Array, where: str) -> Array:
    """Interpolate the first axis to the layer centres or faces, with constant values beyond the last levels."""
    targets = grid.layer_faces if where == "layer_faces" else grid.level
    count = targets.size
    if "level" not in field.dims and "level_face" not in field.dims:
        return np.repeat(values, count, axis=0)
    if "level_face" in field.dims or "level" not in field.coords:
        if values.shape[0] != count:
            raise DataError(
                f"the meteorology's {name} has {values.shape[0]} levels without heights, the grid has {count}"
            )
        return values
    nodes = field.coords["level"].astype(np.float64)
    numbered = nodes.size == count and any(np.array_equal(nodes, np.arange(count) + first) for first in (0, 1))
    if numbered or (nodes.size == count and np.allclose(nodes, targets, rtol=1e-6, atol=1e-3)):
        return values
    _check_lowest(grid, name, nodes)
    if nodes[-1] < grid.level[-1] - 1.0:
        raise DataError(
            f"the meteorology's {name} reaches {number(nodes[-1])} m above ground, the highest layer's centre is at "
            f"{number(grid.level[-1])} m; give data to there or fewer layers"
        )
    return Weights.of(clamped_matrix(nodes, targets))(values, -3)


def _check_lowest(grid: Grid, name: str, nodes: Array) -> None:
    """Raise DataError for a single level, and for levels that do not reach the ground."""
    if nodes.size == 1:
        raise DataError(
            f"the meteorology's {name} has one level, at {number(nodes[0])} m; give more levels, or drop the dimension "
            "level for a field that is constant with height"
        )
    if nodes[0] > max(_LOWEST, grid.level[0]):
        raise DataError(
            f"the meteorology's {name} begins at {number(nodes[0])} m above ground, without data for the air below; "
            f"give levels to the ground, at least to {number(_LOWEST)} m"
        )
