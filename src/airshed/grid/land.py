"""A regular grid of which only the cells on land are computed, packed one behind the other."""

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
    """Centres of cells [degrees], rising, and which of them are on land; packed cells go from west to east, row by row.

    lat (nlat,), lon (nlon,), mask (nlat, nlon)
    raises  CaseError where no cell is on land
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
        """Return the cells of a box, (west, east) and (south, north) [degrees], whose centres lie within an outline."""
        rows, columns = (_centres(*ends, spacing) for ends in (lat, lon))
        return cls(rows, columns, within(outline, rows, columns))

    @cached_property
    def index(self) -> Index:
        """The place of each packed cell in the grid, row by row (cells,)."""
        return np.flatnonzero(self.mask)

    @property
    def cells(self) -> int:
        """The number of cells on land."""
        return len(self.index)

    @cached_property
    def cell_lat(self) -> Array:
        """The latitude of each packed cell (cells,)."""
        return self.lat[self.index // len(self.lon)]

    @cached_property
    def cell_lon(self) -> Array:
        """The longitude of each packed cell (cells,)."""
        return self.lon[self.index % len(self.lon)]

    @property
    def axes(self) -> Axes:
        """The domain: a row of cells, which ranks divide, with the latitude and longitude of each."""
        number = Coordinate("cell", np.arange(self.cells, dtype=np.float64), {"long_name": "cell on land"})
        places = [("lat", self.cell_lat, LAT), ("lon", self.cell_lon, LON)]
        return Axes((number, *(Coordinate(*each, dims=("cell",)) for each in places)), divided=("cell",))

    def unpacked(self, values: npt.NDArray[Any], missing: Any = np.nan) -> npt.NDArray[Any]:
        """Return a field of the grid (..., nlat, nlon) from one of packed cells (..., cells)."""
        return PackedGrid(self.lat, self.lon, *np.divmod(self.index, len(self.lon))).spread(values, missing)


def within(outline: Iterable[Polygon], lat: Array, lon: Array) -> Mask:
    """Return which points (nlat, nlon) lie within polygons, holes left out; both axes rise [degrees].

    Along each latitude a point is within where the number of border crossings west of it is odd.
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
    """Return polygons from the coordinates of a GeoJSON Polygon or MultiPolygon."""
    several = coordinates if kind == "MultiPolygon" else [coordinates]
    return [[np.array(ring, np.float64) for ring in polygon] for polygon in several]


def _centres(low: float, high: float, spacing: float) -> Array:
    count = round((high - low) / spacing)
    if count < 1 or abs(low + count * spacing - high) > 1e-6:
        raise CaseError(f"{low:g} to {high:g} degrees is no whole number of cells of {spacing:g} degrees")
    return np.asarray(low + spacing * (np.arange(count) + 0.5), np.float64)
