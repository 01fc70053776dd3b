"""Structured grid of columns on the sphere: its own coordinates, metrics as arrays, layers above ground."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.text import number
from airshed.grid.axes import Axes, Coordinate
from airshed.grid.mapping import GridMapping, LonLat, Metrics, pairs
from airshed.grid.window import Window

Index = NDArray[np.intp]

_MOST_CELLS_A_SIDE: Final = 100_000
_UNIFORM: Final = 1e-6
_LEVEL: Final = {
    "standard_name": "height", "long_name": "height of the layer's centre above the ground", "units": "m",
    "positive": "up", "axis": "Z",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Grid(Metrics):
    """Columns between faces that are uniform in the grid's x and y; layers of fixed thickness above ground.

    mapping      between x, y and longitude, latitude
    x_faces      (nx + 1,)  ascending, uniform, in the unit of the mapping
    y_faces      (ny + 1,)  ascending, uniform
    layer_faces  [m]  (nz + 1,)  height above ground, 0 first
    """

    mapping: GridMapping
    x_faces: Array
    y_faces: Array
    layer_faces: Array

    @classmethod
    def mapped(cls, mapping: GridMapping, x_faces: ArrayLike, y_faces: ArrayLike, layer_faces: ArrayLike) -> Self:
        """Return the grid between faces in the coordinates of a mapping, with its metrics.

        Raises CaseError for faces that do not ascend uniformly.
        """
        x, y, layers = (np.array(each, np.float64) for each in (x_faces, y_faces, layer_faces))
        names = ("longitude", "latitude") if mapping.separable else ("x", "y")
        for name, faces in zip(names, (x, y), strict=True):
            _check_faces(name, faces, mapping.unit)
        if mapping.separable:
            _check_on_sphere(x, y)
        if layers.ndim != 1 or layers.size < 2 or layers[0] != 0.0:
            raise CaseError("the grid's layer faces must begin with 0 m, the ground, and hold at least one layer top")
        check_layer_tops(tuple(float(top) for top in layers[1:]))
        metrics = mapping.metrics(x, y)
        arrays = {each.name: getattr(metrics, each.name) for each in fields(Metrics)}
        # read-only, as several grids share one array
        for each in (x, y, layers, *arrays.values()):
            each.setflags(write=False)
        return cls(mapping=mapping, x_faces=x, y_faces=y, layer_faces=layers, **arrays)

    @classmethod
    def lonlat(cls, lon_faces: ArrayLike, lat_faces: ArrayLike, layer_faces: ArrayLike) -> Self:
        """Return the longitude-latitude grid between faces [degrees], [m]; raise CaseError as :meth:`mapped`."""
        return cls.mapped(LonLat(), lon_faces, lat_faces, layer_faces)

    @classmethod
    def regular(
        cls,
        lon: tuple[float, float],
        lat: tuple[float, float],
        spacing: float | tuple[float, float],
        layers: Sequence[float] | None = None,
    ) -> Self:
        """Return the grid of a longitude-latitude box.

        lon, lat  [degrees]  (west, east), (south, north)
        spacing   [degrees]  one number, or one for longitude and one for latitude
        layers    [m]        heights of the layer tops above ground; None: ``default_layers()``
        raises    CaseError if the box is not a whole number of cells
        """
        dlon, dlat = (spacing, spacing) if isinstance(spacing, int | float) else spacing
        tops = tuple(float(top) for top in (default_layers() if layers is None else layers))
        check_layer_tops(tops)
        faces = uniform_faces("longitude", lon, float(dlon)), uniform_faces("latitude", lat, float(dlat))
        return cls.lonlat(*faces, (0.0, *tops))

    def part(self, window: Window) -> Self:
        """Return the grid of a window's columns; its metrics are bitwise identical to the whole grid's."""
        rows, columns = slice(window.south, window.north + 1), slice(window.west, window.east + 1)
        arrays: dict[str, Any] = {}
        for each in fields(Metrics):
            array = getattr(self, each.name)
            more = tuple(size - cells for size, cells in zip(array.shape, self.shape[1:], strict=True))
            arrays[each.name] = array[window.south : window.north + more[0], window.west : window.east + more[1]]
        return replace(self, x_faces=self.x_faces[columns], y_faces=self.y_faces[rows], **arrays)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of (layers, rows, columns)."""
        return self.layer_faces.size - 1, self.y_faces.size - 1, self.x_faces.size - 1

    @property
    def dims(self) -> tuple[str, str]:
        """Names of the horizontal dimensions of a field."""
        return self.mapping.dims

    @cached_property
    def x(self) -> Array:
        """Centres of the columns of cells (nx,), in the unit of the mapping."""
        return 0.5 * (self.x_faces[1:] + self.x_faces[:-1])

    @cached_property
    def y(self) -> Array:
        """Centres of the rows of cells (ny,), in the unit of the mapping."""
        return 0.5 * (self.y_faces[1:] + self.y_faces[:-1])

    @cached_property
    def level(self) -> Array:
        """Height of the layer centres above ground [m], (nz,)."""
        return 0.5 * (self.layer_faces[1:] + self.layer_faces[:-1])

    @cached_property
    def thickness(self) -> Array:
        """Thickness of the layers [m], (nz,)."""
        return np.diff(self.layer_faces)

    @cached_property
    def cell_volume(self) -> Array:
        """Volume of the cells [m3], (nz, ny, nx), with the same Earth radius at all heights."""
        alike = self.cell_area.strides[1] == 0  # with one area per row, volumes are stored per row only
        area = self.cell_area[:, :1] if alike else self.cell_area
        volume = np.broadcast_to(self.thickness[:, None, None] * area, self.shape)
        volume.setflags(write=False)
        return volume

    @cached_property
    def axes(self) -> Axes:
        """Axes of fields with their coordinates; ranks divide the columns."""
        level = Coordinate("level", self.level, _LEVEL, pairs(self.layer_faces))
        horizontal = self.mapping.coordinates(self, self.x_faces, self.y_faces)
        return Axes((level, *horizontal), divided=self.dims, mapping=self.mapping.parameters)

    @cached_property
    def wind_rotation(self) -> tuple[Array, Array]:
        """Angle from east to the x direction [rad] at x faces (ny, nx + 1) and y faces (ny + 1, nx)."""
        found = []
        for axis in (1, 0):
            before = np.concatenate([self.rotation.take([0], axis), self.rotation], axis)
            behind = np.concatenate([self.rotation, self.rotation.take([-1], axis)], axis)
            found.append(before + 0.5 * np.arctan2(np.sin(behind - before), np.cos(behind - before)))
        return found[0], found[1]

    @cached_property
    def face_centres(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Longitude and latitude of the centres of the x faces (ny, nx + 1) and of the y faces (ny + 1, nx)."""
        to_lonlat = self.mapping.to_lonlat
        return to_lonlat(*np.meshgrid(self.x_faces, self.y)), to_lonlat(*np.meshgrid(self.x, self.y_faces))

    @property
    def middle(self) -> tuple[float, float]:
        """Longitude and latitude of the centre of the grid [degrees]."""
        x, y = (0.5 * (faces[:1] + faces[-1:]) for faces in (self.x_faces, self.y_faces))
        lon, lat = self.mapping.to_lonlat(x, y)
        return float(lon[0]), float(lat[0])

    @cached_property
    def bounds(self) -> tuple[float, float, float, float]:
        """Minimum and maximum longitude, minimum and maximum latitude of the corners [degrees]."""
        lon, lat = self.corner_lon, self.corner_lat
        return float(lon.min()), float(lon.max()), float(lat.min()), float(lat.max())

    def __str__(self) -> str:
        west, east, south, north = self.bounds
        return f"{west:g} to {east:g} E, {south:g} to {north:g} N"

    def locate(self, lon: ArrayLike, lat: ArrayLike) -> tuple[Array, Array]:
        """Return x and y of points [degrees]; periodic x is shifted into the grid where possible."""
        x, y = self.mapping.from_lonlat(np.asarray(lon, np.float64), np.asarray(lat, np.float64))
        if np.isfinite(self.mapping.period):
            first, last = self.x_faces[0], self.x_faces[-1]
            turned = first + (x - first) % self.mapping.period
            x = np.where((first <= x) & (x <= last) | (turned > last), x, turned)
        return x, y

    def contains(self, lon: ArrayLike, lat: ArrayLike) -> NDArray[np.bool_]:
        """Return whether points [degrees] are inside the grid, including its edge."""
        x, y = self.locate(lon, lat)
        inside = (self.x_faces[0] <= x) & (x <= self.x_faces[-1]) & (self.y_faces[0] <= y) & (y <= self.y_faces[-1])
        return np.asarray(inside)

    def meets(self, lon: tuple[float, float], lat: tuple[float, float]) -> bool:
        """Return whether a longitude-latitude box [degrees] intersects the bounding box of the grid, modulo 360
        degrees.
        """
        west, east, south, north = self.bounds
        across = any(lon[0] + turn < east and lon[1] + turn > west for turn in range(-1080, 1081, 360))
        return across and lat[0] < north and lat[1] > south

    def cells_at(self, lon: ArrayLike, lat: ArrayLike) -> tuple[Index, Index]:
        """Return row and column of the cell that contains each point [degrees], or of the nearest cell."""
        x, y = self.locate(lon, lat)
        row, column = (
            np.clip(np.searchsorted(faces, along, side="right") - 1, 0, faces.size - 2)
            for faces, along in ((self.y_faces, y), (self.x_faces, x))
        )
        return row, column


def _check_faces(axis: str, faces: Array, unit: str) -> None:
    """Raise CaseError unless the faces ascend uniformly."""
    if faces.ndim != 1 or faces.size < 2 or not np.all(np.isfinite(faces)):
        raise CaseError(f"the grid needs at least two finite faces in {axis}, got an array of shape {faces.shape}")
    widths = np.diff(faces)
    mean = (faces[-1] - faces[0]) / widths.size
    if mean <= 0.0 or np.any(np.abs(widths - mean) > _UNIFORM * mean):
        raise CaseError(
            f"the grid's faces in {axis} must rise in equal steps, got {widths.min():g} to {widths.max():g} {unit}"
        )


def _check_on_sphere(lon_faces: Array, lat_faces: Array) -> None:
    """Raise CaseError if the faces exceed the range of the sphere."""
    if lat_faces[0] < -90.0 or lat_faces[-1] > 90.0:
        raise CaseError(
            f"the grid reaches from {lat_faces[0]:g} to {lat_faces[-1]:g} degrees north; stay within -90 and 90"
        )
    if lon_faces[-1] - lon_faces[0] > 360.0 * (1.0 + _UNIFORM):
        raise CaseError(f"the grid spans {lon_faces[-1] - lon_faces[0]:g} degrees of longitude; the Earth has 360")
    if lon_faces[0] < -360.0 or lon_faces[-1] > 720.0:
        raise CaseError(f"the grid's longitudes {lon_faces[0]:g} to {lon_faces[-1]:g}: write them between -180 and 360")


def uniform_faces(axis: str, ends: tuple[float, float], spacing: float, unit: str = "degrees") -> Array:
    """Return the faces of a whole number of cells between both ends; raise CaseError for another number."""
    low, high = float(ends[0]), float(ends[1])
    if not low < high:
        raise CaseError(f"the area's {axis} goes from {low:g} to {high:g}; give the smaller one first")
    if not spacing > 0.0:
        raise CaseError(f"the grid spacing in {axis} is {spacing:g} {unit}; give a positive one, such as 0.25")
    count = (high - low) / spacing
    cells = max(round(count), 1)
    if cells > _MOST_CELLS_A_SIDE:
        raise CaseError(f"a spacing of {spacing:g} {unit} makes {cells} cells in {axis}; take a coarser one")
    if abs(count - cells) > _UNIFORM * cells:
        raise CaseError(
            f"{high - low:g} {unit} of {axis} are not a whole number of cells of {spacing:g} {unit}; "
            f"a spacing of {(high - low) / cells:.8g} would fit"
        )
    return np.linspace(low, high, cells + 1)


# Heights of the model layers.


DEFAULT_LAYER_TOPS = (
    20.0, 50.0, 100.0, 170.0, 260.0, 370.0, 510.0, 690.0, 920.0, 1210.0,
    1580.0, 2050.0, 2640.0, 3390.0, 4330.0, 5500.0, 6950.0, 8750.0,
)  # fmt: skip

MOST_LAYERS = 500
"""Limit of the number of layers, three times that of weather models. The column solver is compiled for the number."""

LEAST_THICKNESS = 0.01
"""Minimum thickness of a layer [m], below any scale of mixing in air."""


def default_layers() -> tuple[float, ...]:
    """Return the tops of the default layers [m above ground]: 18 layers from 20 m to 8.75 km.

    The thickness grows by a factor of at most 1.67, and of about 1.25 from the third layer on. A face is then close
    enough to the midpoint between two layer centres for second-order vertical differences. Ten layers are below 1.3 km,
    where the daytime boundary layer of a mid-latitude summer has its gradients.
    """
    return DEFAULT_LAYER_TOPS


def check_layer_tops(tops: tuple[float, ...]) -> None:
    """Raise CaseError unless the layer tops [m] ascend from above the ground with sufficient thickness."""
    if not tops:
        raise CaseError("the grid has no layers; give the heights of the layer tops, such as layers = ['20 m', '50 m']")
    if len(tops) > MOST_LAYERS:
        raise CaseError(f"the grid has {len(tops)} layers; give {MOST_LAYERS} or fewer")
    heights = (0.0, *tops)
    for index, (bottom, top) in enumerate(pairwise(heights)):
        if not bottom < top < 100e3:
            raise CaseError(
                f"layer {index + 1} of the grid reaches from {number(bottom)} m to {number(top)} m; "
                "give tops above ground that rise from layer to layer, below 100 km"
            )
        if top - bottom < LEAST_THICKNESS:
            thin = f"layer {index + 1} of the grid is {top - bottom:.3g} m thick"
            raise CaseError(f"{thin}; give layers of {number(LEAST_THICKNESS)} m or more")
