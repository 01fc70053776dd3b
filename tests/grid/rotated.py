"""Grid with a rotated pole, whose longitude and latitude do not separate."""

from typing import Any

import numpy as np

from airshed.grid import Grid, GridMapping

Array = np.ndarray[Any, np.dtype[np.float64]]


class RotatedPole(GridMapping):
    """Longitude and latitude in a frame with its origin at a given point, rotated there by an angle [degrees]."""

    unit = "degrees"

    def __init__(self, lon: float = 7.6, lat: float = 50.5, turn: float = 30.0) -> None:
        (sl, sp, st), (cl, cp, ct) = (f(np.radians([lon, lat, turn])) for f in (np.sin, np.cos))
        spin = np.array([[1.0, 0.0, 0.0], [0.0, ct, -st], [0.0, st, ct]])
        tilt = np.array([[cp, 0.0, -sp], [0.0, 1.0, 0.0], [sp, 0.0, cp]])
        self.matrix = np.array([[cl, -sl, 0.0], [sl, cl, 0.0], [0.0, 0.0, 1.0]]) @ tilt @ spin

    def to_lonlat(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Return longitude and latitude."""
        return turned(x, y, self.matrix)

    def from_lonlat(self, lon: Array, lat: Array) -> tuple[Array, Array]:
        """Return x and y."""
        return turned(lon, lat, self.matrix.T)

    def attributes(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the names of the axes."""
        return tuple({"standard_name": f"grid_{name}", "units": "degrees"} for name in ("latitude", "longitude"))


def turned(lon: Array, lat: Array, matrix: Array) -> tuple[Array, Array]:
    """Return longitude and latitude of points after a rotation of the sphere."""
    east, north = np.radians(lon), np.radians(lat)
    place = np.stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east), np.sin(north)], axis=-1) @ matrix.T
    return np.degrees(np.arctan2(place[..., 1], place[..., 0])), np.degrees(np.arcsin(np.clip(place[..., 2], -1, 1)))


def rotated_grid(rows: int, columns: int, spacing: float, layers: tuple[float, ...], turn: float = 30.0) -> Grid:
    """Return a grid around the point, with cells of a given size [degrees]."""
    faces = [spacing * (np.arange(count + 1) - 0.5 * count) for count in (columns, rows)]
    return Grid.mapped(RotatedPole(turn=turn), *faces, (0.0, *layers))
