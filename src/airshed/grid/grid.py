"""A longitude-latitude-height grid on the sphere, and its axes by the CF conventions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import CaseError
from airshed.grid.axes import Axes, Coordinate
from airshed.grid.layers import check_layer_tops, default_layers
from airshed.grid.window import Window

Array = NDArray[np.float64]

_MOST_CELLS_A_SIDE = 100_000
_UNIFORM = 1e-6


def _frozen(values: ArrayLike) -> Array:
    """Return a read-only copy, so that nobody changes a grid that others hold."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells between faces that are uniform in longitude and latitude; layers of fixed thickness above ground.

    lon_faces    [degrees east]   (nlon + 1,)  rising, uniform
    lat_faces    [degrees north]  (nlat + 1,)  rising (south to north), uniform
    layer_faces  [m]              (nz + 1,)    height above ground, 0 first
    raises  CaseError for faces that fall, are not uniform, or leave the sphere
    """

    lon_faces: Array
    lat_faces: Array
    layer_faces: Array
    _steps: tuple[float, float] | None = field(default=None, kw_only=True, repr=False)
    """Spacing in longitude and latitude [radians] of the grid that this is a part of; None for a whole grid."""

    def __post_init__(self) -> None:
        for name in ("lon_faces", "lat_faces", "layer_faces"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))
        _check_faces("longitude", self.lon_faces)
        _check_faces("latitude", self.lat_faces)
        _check_on_sphere(self.lon_faces, self.lat_faces)
        if self.layer_faces.ndim != 1 or self.layer_faces.size < 2 or self.layer_faces[0] != 0.0:
            raise CaseError("the grid's layer faces must begin with 0 m, the ground, and hold at least one layer top")
        check_layer_tops(tuple(float(top) for top in self.layer_faces[1:]))

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
        raises  CaseError where the box is not a whole number of cells
        """
        dlon, dlat = (spacing, spacing) if isinstance(spacing, int | float) else spacing
        tops = tuple(float(top) for top in (default_layers() if layers is None else layers))
        check_layer_tops(tops)
        return cls(
            _uniform_faces("longitude", lon, float(dlon)),
            _uniform_faces("latitude", lat, float(dlat)),
            np.array((0.0, *tops)),
        )

    def part(self, window: Window) -> "Grid":
        """Return the grid of a window's columns; its places, lengths, areas and volumes are the whole's to the bit."""
        faces = self.lon_faces[window.west : window.east + 1], self.lat_faces[window.south : window.north + 1]
        return Grid(*faces, self.layer_faces, _steps=self.steps)

    @cached_property
    def steps(self) -> tuple[float, float]:
        """Spacing in longitude and latitude [radians]; that of the whole grid where this is a part of one.

        A part's own ends would give it with another round-off.
        """
        if self._steps is not None:
            return self._steps
        lon, lat = (float(np.radians(faces[-1] - faces[0])) for faces in (self.lon_faces, self.lat_faces))
        return lon / self.shape[2], lat / self.shape[1]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return the number of (layers, latitudes, longitudes)."""
        return self.layer_faces.size - 1, self.lat_faces.size - 1, self.lon_faces.size - 1

    @cached_property
    def lon(self) -> Array:
        """Longitude of the cell centres [degrees east], (nlon,)."""
        return _frozen(0.5 * (self.lon_faces[1:] + self.lon_faces[:-1]))

    @cached_property
    def lat(self) -> Array:
        """Latitude of the cell centres [degrees north], (nlat,)."""
        return _frozen(0.5 * (self.lat_faces[1:] + self.lat_faces[:-1]))

    @cached_property
    def level(self) -> Array:
        """Height of the layer centres above ground [m], (nz,)."""
        return _frozen(0.5 * (self.layer_faces[1:] + self.layer_faces[:-1]))

    @cached_property
    def thickness(self) -> Array:
        """Thickness of the layers [m], (nz,)."""
        return _frozen(np.diff(self.layer_faces))

    @cached_property
    def cell_area(self) -> Array:
        """Horizontal area R^2 dlon (sin lat_n - sin lat_s) of the cells [m2], (nlat, 1)."""
        dlon, _ = self.steps
        return _frozen((EARTH_RADIUS**2 * dlon * np.diff(np.sin(np.radians(self.lat_faces))))[:, None])

    @cached_property
    def cell_volume(self) -> Array:
        """Volume of the cells [m3], (nz, nlat, 1); the Earth's radius is taken for all heights."""
        return _frozen(self.thickness[:, None, None] * self.cell_area)

    @cached_property
    def meridional_face_length(self) -> float:
        """Length R dlat of the east and west faces [m]."""
        _, dlat = self.steps
        return EARTH_RADIUS * dlat

    @cached_property
    def zonal_face_length(self) -> Array:
        """Length R cos(lat) dlon of the north and south faces [m], (nlat + 1,)."""
        dlon, _ = self.steps
        # at a pole the face has no length: the cosine's round-off must not become a flux
        cosine = np.where(np.abs(self.lat_faces) == 90.0, 0.0, np.cos(np.radians(self.lat_faces)))
        return _frozen(EARTH_RADIUS * dlon * cosine)


def _check_faces(axis: str, faces: Array) -> None:
    """Raise CaseError unless the faces rise uniformly."""
    if faces.ndim != 1 or faces.size < 2 or not np.all(np.isfinite(faces)):
        raise CaseError(f"the grid needs at least two finite faces in {axis}, got an array of shape {faces.shape}")
    widths = np.diff(faces)
    mean = (faces[-1] - faces[0]) / widths.size
    if mean <= 0.0 or np.any(np.abs(widths - mean) > _UNIFORM * mean):
        raise CaseError(
            f"the grid's faces in {axis} must rise in equal steps, got {widths.min():g} to {widths.max():g} degrees"
        )


def _check_on_sphere(lon_faces: Array, lat_faces: Array) -> None:
    """Raise CaseError where the faces leave the sphere."""
    if lat_faces[0] < -90.0 or lat_faces[-1] > 90.0:
        raise CaseError(
            f"the grid reaches from {lat_faces[0]:g} to {lat_faces[-1]:g} degrees north; stay within -90 and 90"
        )
    if lon_faces[-1] - lon_faces[0] > 360.0 * (1.0 + _UNIFORM):
        raise CaseError(f"the grid spans {lon_faces[-1] - lon_faces[0]:g} degrees of longitude; the Earth has 360")
    if lon_faces[0] < -360.0 or lon_faces[-1] > 720.0:
        raise CaseError(f"the grid's longitudes {lon_faces[0]:g} to {lon_faces[-1]:g}: write them between -180 and 360")


def _uniform_faces(axis: str, ends: tuple[float, float], spacing: float) -> Array:
    """Return the faces of a whole number of cells between both ends."""
    low, high = float(ends[0]), float(ends[1])
    if not low < high:
        raise CaseError(f"the area's {axis} goes from {low:g} to {high:g}; give the smaller one first")
    if not spacing > 0.0:
        raise CaseError(f"the grid spacing in {axis} is {spacing:g} degrees; give a positive one, such as 0.25")
    count = (high - low) / spacing
    cells = max(round(count), 1)
    if cells > _MOST_CELLS_A_SIDE:
        raise CaseError(f"a spacing of {spacing:g} degrees makes {cells} cells in {axis}; take a coarser one")
    if abs(count - cells) > _UNIFORM * cells:
        raise CaseError(
            f"{high - low:g} degrees of {axis} are not a whole number of cells of {spacing:g} degrees; "
            f"a spacing of {(high - low) / cells:.8g} would fit"
        )
    return np.linspace(low, high, cells + 1)


_LEVEL = {
    "standard_name": "height",
    "long_name": "height of the layer's centre above the ground",
    "units": "m",
    "positive": "up",
    "axis": "Z",
}
_LAT = {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north", "axis": "Y"}
_LON = {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east", "axis": "X"}


def lonlat_axes(grid: Grid) -> Axes:
    """Return the axes (level, lat, lon) of a grid, whose columns ranks divide."""
    return Axes(
        (
            Coordinate("level", grid.level, _LEVEL, _between(grid.layer_faces)),
            Coordinate("lat", grid.lat, _LAT, _between(grid.lat_faces)),
            Coordinate("lon", grid.lon, _LON, _between(grid.lon_faces)),
        ),
        divided=("lat", "lon"),
    )


def _between(faces: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([faces[:-1], faces[1:]], axis=1)
