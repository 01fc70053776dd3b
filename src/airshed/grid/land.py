"""Regular grid with computation on land cells only; these are packed into one dimension."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.topojson import Polygon
from airshed.grid.axes import Axes, Coordinate
from airshed.grid.mapping import LAT, LON
from airshed.grid.packing import PackedGrid

Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LandGrid:
    """Cell centres [degrees], ascending, and a land mask; packed cells are ordered from west to east, row by row.

    lat (nlat,), lon (nlon,), mask (nlat, nlon)
    raises  CaseError if no cell is on land
    """

    lat: Array
    lon: Array
    mask: Mask

    def __post_init__(self) -> None:
        if not self.mask.any():
            raise CaseError("no cell of the grid is on land; choose another area, or smaller cells")

    @classmethod
    def regular(
        cls, lon: tuple[float, float], lat: tuple[float, float], spacing: float, outline: Iterable[Polygon]
    ) -> "LandGrid":
        """Return the cells of a box, (west, east) and (south, north) [degrees], whose centres are within an outline."""
        rows, columns = (_centres(*ends, spacing) for ends in (lat, lon))
        return cls(rows, columns, within(outline, rows, columns))

    @cached_property
    def index(self) -> Index:
        """Row and column of each packed cell (cells,)."""
        return np.flatnonzero(self.mask)

    @property
    def cells(self) -> int:
        """Number of cells on land."""
        return len(self.index)

    @cached_property
    def cell_lat(self) -> Array:
        """Latitude of each packed cell (cells,)."""
        return self.lat[self.index // len(self.lon)]

    @cached_property
    def cell_lon(self) -> Array:
        """Longitude of each packed cell (cells,)."""
        return self.lon[self.index % len(self.lon)]

    @property
    def axes(self) -> Axes:
        """Domain: a row of cells, which ranks divide, with the latitude and longitude of each cell."""
        number = Coordinate("cell", np.arange(self.cells, dtype=np.float64), {"long_name": "cell on land"})
        places = [("lat", self.cell_lat, LAT), ("lon", self.cell_lon, LON)]
        return Axes((number, *(Coordinate(*each, dims=("cell",)) for each in places)), divided=("cell",))

    def unpacked(self, values: npt.NDArray[Any], missing: Any = np.nan) -> npt.NDArray[Any]:
        """Return a field on the grid (..., nlat, nlon) from packed cells (..., cells)."""
        return PackedGrid(self.lat, self.lon, *np.divmod(self.index, len(self.lon))).spread(values, missing)


def within(outline: Iterable[Polygon], lat: Array, lon: Array) -> Mask:
    """Return which points (nlat, nlon) are within polygons, excluding holes; both axes ascend [degrees].

    Along each latitude a point is inside if the number of border crossings to the west is odd.
    """
    inside = np.zeros((len(lat), len(lon)), np.bool_)
    for ring in (ring for polygon in outline for ring in polygon):
        (west, south), (east, north) = np.asarray(ring)[:-1].T, np.asarray(ring)[1:].T
        rows = np.flatnonzero((lat >= south.min()) & (lat <= south.max()))
        for row, y in zip(rows, lat[rows], strict=True):
            crosses = (south <= y) != (north <= y)
            share = (y - south[crosses]) / (north[crosses] - south[crosses])
            places = np.sort(west[crosses] + share * (east[crosses] - west[crosses]))
            inside[row] ^= np.searchsorted(places, lon) % 2 == 1
    return inside


def polygons_of(coordinates: Sequence[Any], kind: str) -> list[Polygon]:
    """Return the polygons of the coordinates of a GeoJSON Polygon or MultiPolygon."""
    several = coordinates if kind == "MultiPolygon" else [coordinates]
    return [[np.array(ring, np.float64) for ring in polygon] for polygon in several]


def _centres(low: float, high: float, spacing: float) -> Array:
    count = round((high - low) / spacing)
    if count < 1 or abs(low + count * spacing - high) > 1e-6:
        raise CaseError(f"{low:g} to {high:g} degrees is not a whole number of cells of {spacing:g} degrees")
    return np.asarray(low + spacing * (np.arange(count) + 0.5), np.float64)
