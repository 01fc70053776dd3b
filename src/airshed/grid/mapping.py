"""Horizontal coordinates of a grid: the conversion of x and y to longitude and latitude, and the metrics.

A projected grid requires one class with ``to_lonlat``, ``from_lonlat`` and the CF attributes of x and y. The metrics
are computed from the cell corners on the sphere; a class may give them in closed form, as :class:`LonLat` does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.grid.axes import Attributes, Coordinate

LAT: Final = {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north"}
LON: Final = {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east"}


@dataclass(frozen=True, eq=False)
class Metrics:
    """Positions and sizes of the cells of a grid (ny, nx); x faces are the west and east ones, y faces the others.

    lon, lat                    of the centres [degrees], (ny, nx)
    corner_lon, corner_lat      [degrees], (ny + 1, nx + 1)
    cell_area                   [m2], (ny, nx)
    x_face_length               of the faces that flow along x crosses [m], (ny, nx + 1)
    y_face_length               of the faces that flow along y crosses [m], (ny + 1, nx)
    x_width, y_width            of the cells through their centres [m], (ny, nx)
    rotation                    angle from east to the x direction, counterclockwise [rad], (ny, nx)
    """

    lon: Array
    lat: Array
    corner_lon: Array
    corner_lat: Array
    cell_area: Array
    x_face_length: Array
    y_face_length: Array
    x_width: Array
    y_width: Array
    rotation: Array


class GridMapping:
    """Horizontal coordinates x and y.

    dims       names of the dimensions of a field, y and x
    period     of x, in its unit; infinite if x is not periodic around the globe
    unit       of x and y, for messages
    separable  whether latitude depends on y alone and longitude on x alone, so that weights are a product of both axes
    """

    dims: ClassVar[tuple[str, str]] = ("y", "x")
    period: float = np.inf
    unit: str = "m"
    separable: ClassVar[bool] = False
    radius: float = EARTH_RADIUS
    parameters: Attributes = MappingProxyType({})
    """Attributes of the CF grid mapping; none for longitude and latitude."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and dict(self.parameters) == dict(getattr(other, "parameters", {}))

    def __hash__(self) -> int:
        return hash((type(self), tuple(sorted(self.parameters.items(), key=lambda item: item[0]))))

    def to_lonlat(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Return longitude and latitude [degrees] of points."""
        raise NotImplementedError

    def from_lonlat(self, lon: Array, lat: Array) -> tuple[Array, Array]:
        """Return x and y of points [degrees]."""
        raise NotImplementedError

    def attributes(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Return the CF attributes of y and x."""
        raise NotImplementedError

    def metrics(self, x_faces: Array, y_faces: Array) -> Metrics:
        """Return the metrics of the cells between faces, from great circles between their corners."""
        x, y = 0.5 * (x_faces[1:] + x_faces[:-1]), 0.5 * (y_faces[1:] + y_faces[:-1])
        lon, lat = self.to_lonlat(*np.meshgrid(x, y))
        corner_lon, corner_lat = self.to_lonlat(*np.meshgrid(x_faces, y_faces))
        corners = directions(corner_lon, corner_lat)
        across_x = directions(*self.to_lonlat(*np.meshgrid(x_faces, y)))
        across_y = directions(*self.to_lonlat(*np.meshgrid(x, y_faces)))
        eastward, northward = np.diff(across_x, axis=1), northward_vectors(lon, lat)
        east = np.stack([-np.sin(np.radians(lon)), np.cos(np.radians(lon)), np.zeros_like(lon)], axis=-1)
        return Metrics(
            lon, lat, corner_lon, corner_lat,
            cell_area=self.radius**2 * _solid_angle(corners),
            x_face_length=self.radius * _angle(corners[1:], corners[:-1]),
            y_face_length=self.radius * _angle(corners[:, 1:], corners[:, :-1]),
            x_width=self.radius * _angle(across_x[:, 1:], across_x[:, :-1]),
            y_width=self.radius * _angle(across_y[1:], across_y[:-1]),
            rotation=np.arctan2(np.sum(eastward * northward, axis=-1), np.sum(eastward * east, axis=-1)),
        )  # fmt: skip

    def correlation_coordinates(self, metrics: Metrics) -> tuple[tuple[Array, float], tuple[Array, float]]:
        """Return for y and for x the distances of the cell centres along the axis [m], and the period [m]."""
        widths = metrics.y_width.mean(axis=1), metrics.x_width.mean(axis=0)
        along_y, along_x = (np.cumsum(each) - 0.5 * each for each in widths)
        return (along_y, np.inf), (along_x, np.inf)

    def coordinates(self, metrics: Metrics, x_faces: Array, y_faces: Array) -> tuple[Coordinate, ...]:
        """Return the coordinates of results: y, x, and the longitude and latitude of each cell."""
        of_y, of_x = self.attributes()
        return (
            Coordinate(self.dims[0], 0.5 * (y_faces[1:] + y_faces[:-1]), of_y, pairs(y_faces)),
            Coordinate(self.dims[1], 0.5 * (x_faces[1:] + x_faces[:-1]), of_x, pairs(x_faces)),
            Coordinate("lat", metrics.lat, LAT, dims=self.dims),
            Coordinate("lon", metrics.lon, LON, dims=self.dims),
        )


class LonLat(GridMapping):
    """Longitude and latitude as coordinates [degrees]: x eastward, y northward."""

    dims = ("lat", "lon")
    period = 360.0
    unit = "degrees"
    separable = True

    def to_lonlat(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Return the arguments unchanged."""
        return x, y

    def from_lonlat(self, lon: Array, lat: Array) -> tuple[Array, Array]:
        """Return the arguments unchanged."""
        return lon, lat

    def metrics(self, x_faces: Array, y_faces: Array) -> Metrics:
        """Return R^2 dlon (sin lat_n - sin lat_s), R dlat, R cos(lat) dlon: exact, one value for each row or column."""
        rows, columns = y_faces.size - 1, x_faces.size - 1
        dlon, dlat = (float(np.radians(each[-1] - each[0])) / (each.size - 1) for each in (x_faces, y_faces))
        lon, lat = 0.5 * (x_faces[1:] + x_faces[:-1]), 0.5 * (y_faces[1:] + y_faces[:-1])
        # a face at a pole has no length: round-off of the cosine must not cause a flux
        cosine = np.where(np.abs(y_faces) == 90.0, 0.0, np.cos(np.radians(y_faces)))
        of_cells, of_corners = (rows, columns), (rows + 1, columns + 1)
        return Metrics(
            np.broadcast_to(lon, of_cells), np.broadcast_to(lat[:, None], of_cells),
            np.broadcast_to(x_faces, of_corners), np.broadcast_to(y_faces[:, None], of_corners),
            cell_area=_by_row(self.radius**2 * dlon * np.diff(np.sin(np.radians(y_faces))), columns),
            x_face_length=np.broadcast_to(self.radius * dlat, (rows, columns + 1)),
            y_face_length=_by_row(self.radius * dlon * cosine, columns),
            x_width=_by_row(self.radius * np.cos(np.radians(lat)) * dlon, columns),
            y_width=np.broadcast_to(self.radius * dlat, of_cells),
            rotation=np.broadcast_to(0.0, of_cells),
        )  # fmt: skip

    def correlation_coordinates(self, metrics: Metrics) -> tuple[tuple[Array, float], tuple[Array, float]]:
        """Return distances along meridians, and along the central parallel for all rows, so that the axes separate.

        Away from the central latitude, correlation lengths scale with cos(lat)/cos(centre).
        """
        lat, lon = metrics.lat[:, 0], metrics.lon[0]
        radius = self.radius * float(np.cos(np.radians(0.5 * (lat[0] + lat[-1]))))
        along_y, along_x = np.radians(lat) * self.radius, np.radians(lon) * radius
        return (along_y, 2.0 * np.pi * self.radius), (along_x, 2.0 * np.pi * radius)

    def coordinates(self, metrics: Metrics, x_faces: Array, y_faces: Array) -> tuple[Coordinate, ...]:
        """Return latitude and longitude."""
        return (
            Coordinate("lat", metrics.lat[:, 0], {**LAT, "axis": "Y"}, pairs(y_faces)),
            Coordinate("lon", metrics.lon[0], {**LON, "axis": "X"}, pairs(x_faces)),
        )


def pairs(faces: Array) -> Array:
    """Return the bounds (cells, 2) of cells between faces."""
    return np.stack([faces[:-1], faces[1:]], axis=1)


def _by_row(values: Array, columns: int) -> Array:
    return np.broadcast_to(values[:, None], (values.size, columns))


def directions(lon: Array, lat: Array) -> Array:
    """Return the unit vectors from the centre of the sphere (..., 3)."""
    east, north = np.radians(lon), np.radians(lat)
    return np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=-1)


def northward_vectors(lon: Array, lat: Array) -> Array:
    """Return the northward unit vectors (..., 3)."""
    east, north = np.radians(lon), np.radians(lat)
    return np.stack([-np.sin(north) * np.cos(east), -np.sin(north) * np.sin(east), np.cos(north)], axis=-1)


def _angle(first: Array, second: Array) -> Array:
    """Return the angle between unit vectors [rad], accurate for small angles."""
    return np.asarray(2.0 * np.arcsin(np.minimum(0.5 * np.linalg.norm(first - second, axis=-1), 1.0)))


def _solid_angle(corners: Array) -> Array:
    """Return the solid angle of the cells with the given corners (ny + 1, nx + 1, 3), as the sum of two triangles.

    tan(E / 2) = a . (b x c) / (1 + a.b + b.c + c.a); source: van Oosterom & Strackee 1983, IEEE Trans. Biomed. Eng. 30
    """
    a, b, c, d = corners[:-1, :-1], corners[:-1, 1:], corners[1:, 1:], corners[1:, :-1]

    def triangle(p: Array, q: Array, r: Array) -> Array:
        # differences of neighbouring vectors: no loss of digits in small cells
        volume = np.sum(p * np.cross(q - p, r - p), axis=-1)
        scale = 1.0 + np.sum(p * q, axis=-1) + np.sum(q * r, axis=-1) + np.sum(r * p, axis=-1)
        return np.asarray(2.0 * np.arctan2(volume, scale))

    return triangle(a, b, c) + triangle(a, c, d)
