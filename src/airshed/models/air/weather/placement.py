"""From data points to the cells and faces of a part of the model grid: areas, interpolation and averaging weights."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.places import check_gaps, closed_circle
from airshed.grid.weights import PointWeights, Weights, apply
from airshed.grid.window import Window
from airshed.kernels.arrays import weighted

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Area:
    """The columns of a grid that a meteorology works on, and those that are requested of it.

    whole   the grid of the case
    window  of it, the columns that are worked on: one more on each side than are requested, since the density at a face
            is the mean of the cells on both sides
    grid    the part of the whole in that window
    asked   the columns that are requested, by their numbers in that window
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
        """Return latitude and longitude of the cells that are worked on, or of their "east" or "north" faces."""
        axis = {"east": "x", "north": "y"}.get(where, "")
        at_x, at_y = self.whole.face_places
        lon, lat = at_x if axis == "x" else at_y if axis == "y" else (self.whole.lon, self.whole.lat)
        return self.window.of_faces(lat, axis), self.window.of_faces(lon, axis)

    def land(self, given: Array | None) -> Array:
        """Return the land fraction of the columns that are worked on, of that of the whole; None: all is land."""
        return np.ones(self.grid.shape[1:]) if given is None else np.ascontiguousarray(self.window.of(given))


def interpolation_matrix(nodes: Array, points: Array) -> Array:
    """Return W (points, nodes): ``W @ values`` is the linear interpolant at the points, extrapolated beyond the ends.

    A single node gives its value everywhere.
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
    """Return the interpolation matrix that holds the end values beyond the ends."""
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


@dataclass(frozen=True)
class _Axis:
    """Nodes along an axis: those that a part of the grid needs, and the weights from them to its cells and faces."""

    nodes: Array
    needed: slice
    means: Weights
    faces: Weights

    @classmethod
    def of(cls, nodes: Array, faces: Array, cells: slice) -> "_Axis":
        """The weights are those of the whole grid, so that a part of it has no others."""
        means = Weights.of(averaging_matrix(nodes, faces)).part(cells)
        at_faces = Weights.of(interpolation_matrix(nodes, faces)).part(slice(cells.start, cells.stop + 1))
        ends = (means.nodes, at_faces.nodes)
        first, last = min(end.start for end in ends), max(end.stop for end in ends)
        return cls(nodes[first:last], slice(first, last), means.beginning_at(first), at_faces.beginning_at(first))


class Points:
    """The data's points that a part of the model grid needs.

    Where the grid separates, means over cells and faces; else values at their middles, with winds turned to x and y.
    """

    def __init__(self, lat: Array, lon: Array, area: Area) -> None:
        """``lat`` and ``lon`` are the points around the whole grid, of which the area is a part."""
        self._area, whole = area, area.whole
        if whole.mapping.separable:
            self._by_lat = _Axis.of(lat, whole.y_faces, area.window.rows)
            self._by_lon = _Axis.of(lon, whole.x_faces, area.window.columns)
            self.lat, self.lon = self._by_lat.nodes, self._by_lon.nodes
            self.places = {"latitude": self._by_lat.needed, "longitude": self._by_lon.needed}
        else:
            self.lat, self.lon, self.places = lat, lon, {"latitude": slice(lat.size), "longitude": slice(lon.size)}
            self._at_cells, self._at_x_faces, self._at_y_faces = (
                PointWeights.of(lat, lon, *area.places(where)) for where in ("cells", "east", "north")
            )

    def of(self, field: Array) -> Array:
        """Return the points' part of a field (..., lat, lon) at the points around the whole grid."""
        return field[..., self.places["latitude"], self.places["longitude"]]

    def cells(self, field: Array) -> Array:
        """Return the means over the model's cells."""
        if self._area.whole.mapping.separable:
            return weighted(self._by_lat.means, field, self._by_lon.means)
        return self._at_cells(field)

    def wind_through_x_faces(self, east: Array, north: Array) -> Array:
        """Return the wind along x at the x faces, from its eastward and northward components at the points."""
        if self._area.whole.mapping.separable:
            return weighted(self._by_lat.means, east, self._by_lon.faces)
        angle = self._area.window.of_faces(self._area.whole.wind_rotation[0], "x")
        return np.cos(angle) * self._at_x_faces(east) + np.sin(angle) * self._at_x_faces(north)

    def wind_through_y_faces(self, east: Array, north: Array) -> Array:
        """Return the wind along y at the y faces, from its eastward and northward components at the points."""
        if self._area.whole.mapping.separable:
            return weighted(self._by_lat.faces, north, self._by_lon.means)
        angle = self._area.window.of_faces(self._area.whole.wind_rotation[1], "y")
        return np.cos(angle) * self._at_y_faces(north) - np.sin(angle) * self._at_y_faces(east)

    def from_cells(self, field: Array) -> Array:
        """Return the values at the points of a field (lat, lon) of the whole's cells; beyond them the last ones."""
        whole = self._area.whole
        if not whole.mapping.separable:
            rows, columns = whole.cells_at(*np.meshgrid(self.lon, self.lat))
            return field[rows, columns]
        lat, lon = (
            Weights.of(clamped_matrix(cells, nodes)) for cells, nodes in ((whole.y, self.lat), (whole.x, self.lon))
        )
        return apply(lat, field, lon)


def covering(dataset: "xr.Dataset", grid: Grid) -> "xr.Dataset":
    """Return the part of the data around the grid, its longitudes as the grid counts them.

    raises  DataError where the data does not cover the grid
    """
    west, east, south, north = grid.bounds
    centre = 0.5 * (west + east)
    lon = dataset["longitude"].values
    turned = dataset.assign_coords(longitude=lon + 360.0 * np.round((centre - lon) / 360.0)).sortby("longitude")
    twice = np.diff(turned["longitude"].values, prepend=-np.inf) < _TOLERANCE  # 0 and 360 of a whole circle
    if twice.any():
        turned = turned.isel(longitude=np.flatnonzero(~twice))
    nodes = turned["longitude"].values
    if nodes[0] > west + _TOLERANCE or nodes[-1] < east - _TOLERANCE:
        circle = closed_circle(nodes)
        if circle is not None:
            turned = turned.isel(longitude=circle[0]).assign_coords(longitude=circle[1])
    pieces = {}
    for name, low, high in (("latitude", south, north), ("longitude", west, east)):
        nodes = turned[name].values
        if nodes[0] > low + _TOLERANCE or nodes[-1] < high - _TOLERANCE:
            raise DataError(
                f"the data covers {name} {nodes[0]:g} to {nodes[-1]:g}, the case asks for {low:g} to "
                f"{high:g} ({dataset['u'].attrs['file']}); take a smaller area or download more"
            )
        first = max(int(np.searchsorted(nodes, low + _TOLERANCE)) - 1, 0)
        last = min(int(np.searchsorted(nodes, high - _TOLERANCE)), nodes.size - 1)
        check_gaps(name, nodes[first : last + 1], f"the data of {dataset['u'].attrs['file']}")
        pieces[name] = slice(first, last + 1)
    return turned.isel(pieces)
