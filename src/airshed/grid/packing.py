"""Regular grid of which only some cells are stored, such as those on land, packed into one dimension.

packed   (..., cell)        in a land model and in files
spread   (..., lat, lon)    for maps; cells that are not stored have no value
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.core.errors import DataError

_OFF = 1e-3
"""Tolerance of the distance between a cell and its grid line, in spacings: files hold single-precision coordinates."""


@dataclass(frozen=True, eq=False)
class PackedGrid:
    """Position of packed cells on their grid.

    lat, lon       the grid's rows and columns [degrees], ascending
    rows, columns  of each cell
    """

    lat: npt.NDArray[np.float64]
    lon: npt.NDArray[np.float64]
    rows: npt.NDArray[np.intp]
    columns: npt.NDArray[np.intp]

    @classmethod
    def of(cls, lat: npt.ArrayLike, lon: npt.ArrayLike) -> Self:
        """Return the grid of cells at these points; raise DataError if they are not on a regular grid."""
        (rows, lats), (columns, lons) = _lines("lat", lat), _lines("lon", lon)
        places = rows * lons.size + columns
        if np.unique(places).size < places.size:
            raise DataError("two cells are at the same point of their grid; give each cell a different point")
        return cls(lats, lons, rows, columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns of the grid."""
        return self.lat.size, self.lon.size

    def spread(self, values: AnyArray, missing: float = np.nan) -> AnyArray:
        """Return packed values (..., cell) on the grid (..., lat, lon), `missing` elsewhere."""
        result = np.full((*values.shape[:-1], *self.shape), missing, np.result_type(values, missing))
        result[..., self.rows, self.columns] = values
        return result


def _lines(name: str, places: npt.ArrayLike) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Return the number of the grid line of each cell, and all lines, including those without cells."""
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
        raise DataError(f"{name} of packed cells is not on lines of uniform spacing, {spacing:.4g} degrees")
    return lines, found[0] + spacing * np.arange(lines.max() + 1)
