"""The axes of a longitude-latitude-height grid, by the CF conventions."""

import numpy as np
from numpy.typing import NDArray

from airshed.grid.axes import Axes, Coordinate
from airshed.grid.grid import Grid

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
