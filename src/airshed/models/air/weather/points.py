"""Points of weather files for a part of the model grid: their weights to its cells and faces, and their choice."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import DataError
from airshed.core.text import counted
from airshed.grid import Grid
from airshed.grid.coordinates import check_gaps, periodic_nodes
from airshed.grid.scattered import ScatteredWeights
from airshed.grid.weights import PointWeights, Weights, apply
from airshed.kernels.arrays import weighted
from airshed.models.air.weather.placement import Area, averaging_matrix, clamped_matrix, interpolation_matrix

if TYPE_CHECKING:
    import xarray as xr

_TOLERANCE = 1e-4


@dataclass(frozen=True)
class _Axis:
    """Nodes along an axis for a part of the grid, and the weights from them to its cells and faces."""

    nodes: Array
    needed: slice
    means: Weights
    faces: Weights

    @classmethod
    def of(cls, nodes: Array, faces: Array, cells: slice) -> "_Axis":
        """Return the axis; the weights are those of the whole grid, so that results do not depend on the part."""
        means = Weights.of(averaging_matrix(nodes, faces)).part(cells)
        at_faces = Weights.of(interpolation_matrix(nodes, faces)).part(slice(cells.start, cells.stop + 1))
        ends = (means.nodes, at_faces.nodes)
        first, last = min(end.start for end in ends), max(end.stop for end in ends)
        return cls(nodes[first:last], slice(first, last), means.beginning_at(first), at_faces.beginning_at(first))


class Points:
    """Points of the data for a part of the model grid.

    On a separable grid, values are means over cells and faces. On other grids, and for points of a projection, they are
    values at the centres, with winds rotated to x and y.
    """

    _at_cells: PointWeights | ScatteredWeights
    _at_faces: Mapping[str, PointWeights | ScatteredWeights]

    def __init__(self, lat: Array, lon: Array, area: Area) -> None:
        """Compute the weights; ``lat`` and ``lon`` are the points around the whole grid, which contains the area.

        They are rising axes, or (y, x) for points of a projection.
        """
        self._area, whole = area, area.whole
        self._by_axes = whole.mapping.separable and lat.ndim == 1
        if lat.ndim == 2:
            self.lat, self.lon, self.places = lat, lon, {"y": slice(None), "x": slice(None)}
            self._at_cells = scattered_weights(lat, lon, area.places("cells"))
            faces = {"x": area.places("east"), "y": area.places("north")}
            self._at_faces = {axis: scattered_weights(lat, lon, places) for axis, places in faces.items()}
        elif self._by_axes:
            self._by_lat = _Axis.of(lat, whole.y_faces, area.window.rows)
            self._by_lon = _Axis.of(lon, whole.x_faces, area.window.columns)
            self.lat, self.lon = self._by_lat.nodes, self._by_lon.nodes
            self.places = {"latitude": self._by_lat.needed, "longitude": self._by_lon.needed}
        else:
            self.lat, self.lon, self.places = lat, lon, {"latitude": slice(lat.size), "longitude": slice(lon.size)}
            self._at_cells = PointWeights.of(lat, lon, *area.places("cells"))
            faces = {"x": area.places("east"), "y": area.places("north")}
            self._at_faces = {axis: PointWeights.of(lat, lon, *places) for axis, places in faces.items()}

    def of(self, field: Array) -> Array:
        """Return the part of a field (..., lat, lon) at these points, from all points around the whole grid."""
        rows, columns = self.places.values()
        return field[..., rows, columns]

    def cells(self, field: Array) -> Array:
        """Return the means over the model's cells."""
        if self._by_axes:
            return weighted(self._by_lat.means, field, self._by_lon.means)
        return self._at_cells(field)

    def wind(self, axis: str, east: Array, north: Array) -> Array:
        """Return the wind along "x" or "y" at the faces that it crosses, from its components at the points."""
        if self._by_axes:
            if axis == "x":
                return weighted(self._by_lat.means, east, self._by_lon.faces)
            return weighted(self._by_lat.faces, north, self._by_lon.means)
        at_faces = self._at_faces[axis]
        return self._area.wind_along(axis, at_faces(east), at_faces(north))

    def from_cells(self, field: Array) -> Array:
        """Return values at the points from a field (lat, lon) of the cells of the whole grid, constant beyond them."""
        whole = self._area.whole
        if not self._by_axes:
            places = (self.lon, self.lat) if self.lat.ndim == 2 else np.meshgrid(self.lon, self.lat)
            rows, columns = whole.cells_at(*places)
            return field[rows, columns]
        lat, lon = (
            Weights.of(clamped_matrix(cells, nodes)) for cells, nodes in ((whole.y, self.lat), (whole.x, self.lon))
        )
        return apply(lat, field, lon)


def scattered_weights(lat: Array, lon: Array, places: tuple[Array, Array]) -> ScatteredWeights:
    """Return the weights of points (y, x); raise DataError where they do not surround all places."""
    weights = ScatteredWeights.of(lat, lon, *places)
    if not weights.inside.all():
        first = int(np.argmin(weights.inside))
        raise DataError(
            f"the data does not cover latitude {places[0].flat[first]:.2f}, longitude {places[1].flat[first]:.2f} of "
            f"the grid ({counted(int((~weights.inside).sum()), 'place')}); take a smaller area or download "
            "more"
        )
    return weights


def _covering_points(dataset: "xr.Dataset", grid: Grid) -> "xr.Dataset":
    """Return the rows and columns of points of a projection around the grid."""
    lat, lon = (np.asarray(dataset[name].values, np.float64) for name in ("latitude", "longitude"))
    x, y = grid.mapping.from_lonlat(lon, lat)
    if np.isfinite(grid.mapping.period):
        middle = 0.5 * (grid.x_faces[0] + grid.x_faces[-1])
        x = middle + (x - middle + 0.5 * grid.mapping.period) % grid.mapping.period - 0.5 * grid.mapping.period
    near = (x >= grid.x_faces[0]) & (x <= grid.x_faces[-1]) & (y >= grid.y_faces[0]) & (y <= grid.y_faces[-1])
    pieces = {}
    for axis, dim in enumerate(("y", "x")):
        rows = np.flatnonzero(near.any(axis=1 - axis))
        if not rows.size:  # no point in the grid: all are needed
            return dataset
        pieces[dim] = slice(max(int(rows[0]) - 3, 0), int(rows[-1]) + 4)
    return dataset.isel(pieces)


def covering(dataset: "xr.Dataset", grid: Grid) -> "xr.Dataset":
    """Return the part of the data around the grid, with longitudes in the range of the grid.

    raises  DataError if the data does not cover the grid
    """
    if "y" in dataset["u"].dims:
        return _covering_points(dataset, grid)
    west, east, south, north = grid.bounds
    centre = 0.5 * (west + east)
    lon = dataset["longitude"].values
    turned = dataset.assign_coords(longitude=lon + 360.0 * np.round((centre - lon) / 360.0)).sortby("longitude")
    twice = np.diff(turned["longitude"].values, prepend=-np.inf) < _TOLERANCE  # 0 and 360 of a whole circle
    if twice.any():
        turned = turned.isel(longitude=np.flatnonzero(~twice))
    nodes = turned["longitude"].values
    if nodes[0] > west + _TOLERANCE or nodes[-1] < east - _TOLERANCE:
        circle = periodic_nodes(nodes)
        if circle is not None:
            turned = turned.isel(longitude=circle[0]).assign_coords(longitude=circle[1])
    pieces = {}
    for name, low, high in (("latitude", south, north), ("longitude", west, east)):
        nodes = turned[name].values
        if nodes[0] > low + _TOLERANCE or nodes[-1] < high - _TOLERANCE:
            raise DataError(
                f"the data covers {name} {nodes[0]:g} to {nodes[-1]:g}, the case needs {low:g} to "
                f"{high:g} ({dataset['u'].attrs['file']}); take a smaller area or download more"
            )
        first = max(int(np.searchsorted(nodes, low + _TOLERANCE)) - 1, 0)
        last = min(int(np.searchsorted(nodes, high - _TOLERANCE)), nodes.size - 1)
        check_gaps(name, nodes[first : last + 1], f"the data of {dataset['u'].attrs['file']}")
        pieces[name] = slice(first, last + 1)
    return turned.isel(pieces)
