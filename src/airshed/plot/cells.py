"""Cells of a map: rectangles between lines of x and y, in the coordinates of a grid mapping."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from airshed.core.arrays import Array
from airshed.grid.coordinates import faces_around
from airshed.grid.mapping import GridMapping, LonLat, Metrics
from airshed.plot.geography import LONLAT, Area

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class MapCells:
    """Cells between ascending lines of x and y; longitude and latitude unless a mapping is given."""

    x_edges: Array
    y_edges: Array
    mapping: GridMapping = LONLAT

    @classmethod
    def around(cls, lon: Array, lat: Array) -> "MapCells":
        """Return the cells around longitudes and latitudes of columns and rows [degrees]."""
        return cls(faces_around(lon), np.clip(faces_around(lat), -90.0, 90.0))

    @classmethod
    def of(cls, dataset: "xr.Dataset", path: Path) -> tuple["xr.Dataset", "MapCells"]:
        """Return a dataset whose coordinates ascend, and its cells; raise DataError without a regular grid."""
        from airshed.io.grid_file import is_projected, on_grid

        if not is_projected(dataset):
            lon, lat = (np.asarray(dataset[name].values, np.float64) for name in ("lon", "lat"))
            return dataset, cls.around(lon, lat)
        placed, grid = on_grid(dataset, path)
        return placed, cls(grid.x_faces, grid.y_faces, grid.mapping)

    def part(self, rows: slice, columns: slice) -> "MapCells":
        """Return the cells of some rows and columns."""
        y, x = (slice(each.start, each.stop + 1) for each in (rows, columns))
        return MapCells(self.x_edges[x], self.y_edges[y], self.mapping)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.y_edges.size - 1, self.x_edges.size - 1

    @property
    def is_projected(self) -> bool:
        """Return whether x and y are other coordinates than longitude and latitude."""
        return not isinstance(self.mapping, LonLat)

    @cached_property
    def x(self) -> Array:
        """Centres of the columns."""
        return 0.5 * (self.x_edges[1:] + self.x_edges[:-1])

    @cached_property
    def y(self) -> Array:
        """Centres of the rows."""
        return 0.5 * (self.y_edges[1:] + self.y_edges[:-1])

    @cached_property
    def area(self) -> Area:
        """The rectangle that the cells cover."""
        x, y = self.x_edges, self.y_edges
        return Area(float(x[0]), float(x[-1]), float(y[0]), float(y[-1]), self.mapping)

    @cached_property
    def places(self) -> tuple[Array, Array]:
        """Longitude and latitude of the centres [degrees], (rows, columns) each."""
        return self.mapping.to_lonlat(*np.meshgrid(self.x, self.y))

    @cached_property
    def weights(self) -> Array:
        """Weights of cells in a mean (rows, columns): their area, or cos(lat)."""
        if self.is_projected:
            return self._metrics.cell_area
        return np.broadcast_to(np.cos(np.radians(self.y))[:, None], self.shape)

    def along_axes(self, east: Array, north: Array) -> tuple[Array, Array]:
        """Return the components along x and y of a wind towards east and north (rows, columns)."""
        if not self.is_projected:
            return east, north
        cosine, sine = np.cos(self.rotation), np.sin(self.rotation)
        return east * cosine + north * sine, north * cosine - east * sine

    def distances(self, lon: float, lat: float) -> Array:
        """Return distances of the centres from a place, in the unit of y, (rows, columns)."""
        x, y = (float(each) for each in self.mapping.from_lonlat(np.asarray(lon), np.asarray(lat)))
        return np.hypot(self.y[:, None] - y, self.area.squeeze(y) * (self.x - x))

    @property
    def rotation(self) -> Array:
        """Angle from east to the x direction, counterclockwise [rad], (rows, columns)."""
        return self._metrics.rotation

    @cached_property
    def _metrics(self) -> Metrics:
        return self.mapping.metrics(self.x_edges, self.y_edges)
