"""Cells of a regular grid of which only some are kept, such as those on land, packed one behind the other.

packed   (..., cell)        what a model of land steps, and files hold
spread   (..., lat, lon)    what a map shows; cells that are not kept have no value
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.core.errors import DataError
from airshed.grid.mapping import directions

_OFF = 1e-3
"""How far from a grid line a cell may lie, in spacings: files hold coordinates in single precision."""


@dataclass(frozen=True, eq=False)
class PackedGrid:
    """Where packed cells lie on their grid.

    lat, lon       the grid's rows and columns [degrees], rising
    rows, columns  of each cell
    """

    lat: npt.NDArray[np.float64]
    lon: npt.NDArray[np.float64]
    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]

    @classmethod
    def of(cls, lat: npt.ArrayLike, lon: npt.ArrayLike) -> Self:
        """Return the packing of cells at these places; raises DataError where they are on no regular grid."""
        (rows, lats), (columns, lons) = _lines("lat", lat), _lines("lon", lon)
        places = rows * lons.size + columns
        if np.unique(places).size < places.size:
            raise DataError("two cells lie in one place of their grid; give each cell a place of its own")
        return cls(lats, lons, rows, columns)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and columns of the grid."""
        return self.lat.size, self.lon.size

    def spread(self, values: AnyArray, missing: float = np.nan) -> AnyArray:
        """Return packed values (..., cell) on the grid (..., lat, lon), `missing` where no cell is kept."""
        result = np.full((*values.shape[:-1], *self.shape), missing, np.result_type(values, missing))
        result[..., self.rows, self.columns] = values
        return result


@dataclass(frozen=True, eq=False)
class Raster:
    """A longitude-latitude raster over cells that have places of their own, such as those of a projected grid.

    lat, lon  its rows and columns [degrees], rising
    cell      the number of the cell at each of its points (lat, lon), row by row; -1 outside
    """

    lat: npt.NDArray[np.float64]
    lon: npt.NDArray[np.float64]
    cell: npt.NDArray[np.intp]

    @classmethod
    def over(cls, lat: npt.ArrayLike, lon: npt.ArrayLike) -> Self:
        """Return as many points as there are cells (ny, nx) at these places, each with the nearest cell."""
        from scipy.spatial import cKDTree

        rows, columns = np.shape(lat)
        east = np.unwrap(np.unwrap(np.asarray(lon, np.float64), period=360.0), axis=0, period=360.0)
        north = np.asarray(lat, np.float64)
        axes = [np.linspace(each.min(), each.max(), size) for each, size in ((north, rows), (east, columns))]
        cells = directions(east, north).reshape(-1, 3)
        tree = cKDTree(cells)
        own, _ = tree.query(cells, k=[2])
        away, cell = tree.query(directions(*np.meshgrid(axes[1], axes[0])))
        return cls(axes[0], axes[1], np.where(away <= own.max(), cell, -1))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and columns."""
        return self.lat.size, self.lon.size

    def spread(self, values: AnyArray, missing: float = np.nan) -> AnyArray:
        """Return the values of cells (..., ny, nx) on the raster (..., lat, lon), `missing` outside."""
        picked = values.reshape(*values.shape[:-2], -1)[..., self.cell]
        return np.where(self.cell < 0, missing, picked)


def _lines(name: str, places: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Return for each cell the number of its grid line, and the lines, with those between that have no cell."""
    values = np.asarray(places, np.float64)
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)):
        raise DataError(f"{name} of packed cells must be one number for each cell")
    found = np.unique(values)
    if found.size == 1:
        return np.zeros(values.size, np.intp), found
    spacing = np.diff(found).min()
    numbers = (values - found[0]) / spacing
    lines = np.rint(numbers).astype(np.intp)
    spacing *= numbers.max() / lines.max()
    if np.abs((values - found[0]) / spacing - lines).max() > _OFF:
        raise DataError(f"{name} of packed cells lies on no lines of one spacing, {spacing:.4g} degrees")
    return lines, found[0] + spacing * np.arange(lines.max() + 1)
