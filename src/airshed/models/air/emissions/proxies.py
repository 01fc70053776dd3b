"""Proxies for the distribution of emission within a country, on the fine grid.

Each proxy is a field of weights over the cells of a country whose sum is one. The table of sectors combines them.
Smoothing is implemented here, since importing SciPy's image filters takes a third of a second at every start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import erf
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.errors import DataError
from airshed.grid.coverage import SPACING, FineWindow
from airshed.io.tables import Row, read_table, unique
from airshed.models.air.emissions.countries import UNKNOWN_CAPACITY, Cities, Plant

RURAL_DENSITY: Final = 300.0
"""Inhabitants per km2 at which half of the land counts as rural (the degree of urbanisation of Eurostat and UN)."""

HINTERLAND: Final = 15.0  # standard deviation [km] of the smoothing of traffic between cities
ESTATE: Final = 5.0  # standard deviation [km] of the smoothing of industry around known sites
SHORE: Final = 20.0  # width [km] of the coastal waters with national shipping
LARGE_CITY: Final = 400_000.0  # minimum population of a city with a major airport
MARGIN: Final = 0.4  # margin [degrees] of the window around a country, for coastal waters
_SQUARE_KM: Final = 1e6


@dataclass(frozen=True)
class MethaneGrid:
    """Anthropogenic methane emission of EDGAR: flux [mol m-2 s-1], shape (lat, lon), on uniform axes [degrees]."""

    lon: Array
    lat: Array
    flux: Array

    def on(self, window: FineWindow) -> Array:
        """Return the flux [mol m-2 s-1] at the cell centres of a window, nearest neighbour; zero outside the grid."""
        lon, lat = window.centres
        columns = np.rint((lon - self.lon[0]) / (self.lon[1] - self.lon[0])).astype(int)
        rows = np.rint((lat - self.lat[0]) / (self.lat[1] - self.lat[0])).astype(int)
        inside = np.outer((rows >= 0) & (rows < self.lat.size), (columns >= 0) & (columns < self.lon.size))
        found = self.flux[np.clip(rows, 0, self.lat.size - 1)][:, np.clip(columns, 0, self.lon.size - 1)]
        return np.where(inside, found, 0.0)


@dataclass(frozen=True)
class CountryFields:
    """Data of a country on its window of the fine grid, and the proxies from them.

    share   [1]  fraction of each cell in the country, (nlat, nlon)
    land    [1]  fraction of each cell in any country, (nlat, nlon)
    """

    window: FineWindow
    share: Array
    land: Array
    cities: Cities
    plants: tuple[Plant, ...]
    methane_grid: MethaneGrid

    @cached_property
    def population(self) -> Array:
        """Inhabitants per cell: each city is a Gaussian on the country's land, with a width by population."""
        return spread(self.cities, self.window, self.share)

    @cached_property
    def rural(self) -> Array:
        """Land area [m2], reduced by population density: area / (1 + density / 300 km-2)."""
        area = self.share * self.window.area
        density = self.population / (self.window.area / _SQUARE_KM)
        return np.asarray(area / (1.0 + density / RURAL_DENSITY))

    @cached_property
    def hinterland(self) -> Array:
        """Population smoothed over 15 km: the roads between and around the cities."""
        return self._smooth(self.population, HINTERLAND)

    @cached_property
    def large_cities(self) -> Array:
        """Inhabitants of cities with a major airport, or of the largest city."""
        return spread(self.cities.larger_than(LARGE_CITY), self.window, self.share)

    @cached_property
    def industry(self) -> Array:
        """Sites of large combustion plants, weighted by the square root of capacity, smoothed over 5 km."""
        fired = [plant for plant in self.plants if plant.fuel != "Nuclear"]
        return self._smooth(self._at_sites(fired, [np.sqrt(_capacity(plant)) for plant in fired]), ESTATE)

    @cached_property
    def coast(self) -> Array:
        """Area of water [m2] within 20 km of the country's land."""
        near = within(self.share > 0.0, SHORE, self.window.cell_size)
        return np.asarray((1.0 - self.land) * near * self.window.area)

    @cached_property
    def methane(self) -> Array:
        """Methane emitted on the country's land [mol/s]."""
        return np.asarray(self.methane_grid.on(self.window) * self.share * self.window.area)

    @cached_property
    def rural_methane(self) -> Array:
        """Methane emitted on rural land [mol/s], from livestock and manure rather than waste."""
        return self.methane_grid.on(self.window) * self.rural

    def combustion(self, factors: dict[str, float]) -> Array:
        """Emission of the power plants: capacity x factor of the fuel, at their sites."""
        weights = [_capacity(plant) * factors[plant.fuel] for plant in self.plants]
        return self._at_sites(self.plants, weights)

    def _at_sites(self, plants: Sequence[Plant], weights: Sequence[float]) -> Array:
        field = np.zeros((self.window.nlat, self.window.nlon))
        lon, lat = (np.array([getattr(plant, name) for plant in plants]) for name in ("lon", "lat"))
        row, column = self.window.cells(lon, lat)
        inside = (row >= 0) & (row < self.window.nlat) & (column >= 0) & (column < self.window.nlon)
        np.add.at(field, (row[inside], column[inside]), np.array(weights)[inside])
        return field

    def _smooth(self, field: Array, kilometres: float) -> Array:
        return np.asarray(smoothed(field, kilometres, self.window.cell_size) * self.share)


PLANTS: Final = "plants"  # proxy that depends on the pollutant, since emission factors depend on the fuel

_FIELDS: Final = (
    "population", "rural", "hinterland", "large_cities", "industry", "coast", "methane", "rural_methane",
)  # fmt: skip

PROXIES: Final = (PLANTS, *_FIELDS)  # names that the table of sectors may use


def normalised(fields: CountryFields, name: str, fuel_factors: dict[str, float]) -> tuple[Array, str]:
    """Return the weights of a proxy scaled to sum to one, and the name of the proxy in use.

    For a country without the proxy (no power plant, no coast), it is population, or else rural land.
    """
    for candidate in (name, "population", "rural"):
        weights = fields.combustion(fuel_factors) if candidate == PLANTS else getattr(fields, candidate)
        total = weights.sum()
        if total > 0.0:
            return weights / total, candidate
    raise DataError("a country has neither people nor land on the map; its polygon is empty")


def read_sectors(path: Path) -> dict[str, dict[str, float]]:
    """Return the proxies of each sector with fractions that sum to one; raises DataError."""
    sectors: dict[str, dict[str, float]] = {}
    rows: dict[str, Row] = {}
    for row in read_table(path, ("sector", "proxy", "share")):
        sector = row.name("sector")
        unique(sectors.setdefault(sector, {}), row.known("proxy", PROXIES), row.number("share", most=1.0), row)
        rows[sector] = row
    for sector, shares in sectors.items():
        total = sum(shares.values())
        if abs(total - 1.0) > 1e-9:
            raise rows[sector].error(f"the shares of {sector} sum to {total:g}, but must sum to 1")
    return sectors


def _capacity(plant: Plant) -> float:
    return UNKNOWN_CAPACITY if plant.capacity is None else plant.capacity


_TRUNCATE = 3.0


def smoothed(field: Array, sigma: float, cell: tuple[float, float]) -> Array:
    """Return a field convolved with a Gaussian that ends at three standard deviations; outside the field is zero.

    field (lat, lon);  sigma [km], size of a cell along longitude and latitude [km]
    """
    east, north = cell
    return _along_first(_along_first(field, sigma / north).T, sigma / east).T


def _along_first(field: Array, sigma: float) -> Array:
    """Return the convolution along the first axis, sigma in cells."""
    reach = int(_TRUNCATE * sigma + 0.5)
    offsets = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    weights /= weights.sum()
    padded = np.pad(field, ((reach, reach), (0, 0)))
    result = weights[reach] * field
    for offset in range(1, reach + 1):
        before, after = padded[reach - offset : -reach - offset], padded[reach + offset :][: len(field)]
        result += weights[reach + offset] * (before + after)
    return np.asarray(result)


def within(cells: NDArray[np.bool_], distance: float, cell: tuple[float, float]) -> NDArray[np.bool_]:
    """Return a mask of cells whose centres are within a distance [km] of the centre of a marked cell.

    cells (lat, lon);  size of a cell along longitude and latitude [km]
    """
    east, north = cell
    rows, columns = cells.shape
    counts = np.zeros((rows, columns + 1), np.int64)
    np.cumsum(cells, axis=1, out=counts[:, 1:])
    found = np.zeros_like(cells)
    places = np.arange(columns)
    furthest = min(int(distance / north), rows - 1)
    for offset in range(-furthest, furthest + 1):
        reach = int(np.sqrt(distance**2 - (offset * north) ** 2) / east)
        right, left = np.minimum(places + reach + 1, columns), np.maximum(places - reach, 0)
        beside = counts[:, right] > counts[:, left]
        if offset >= 0:
            found[: rows - offset] |= beside[offset:]
        else:
            found[-offset:] |= beside[:offset]
    return found


CITY_DENSITY: Final = 4000.0
"""Inhabitants per km2 in the centre of a city; with the population it determines the width of the city."""


def spread(cities: Cities, window: FineWindow, share: Array) -> Array:
    """Return inhabitants per cell of the country's land; each city is a Gaussian with 4000 per km2 in its centre.

    The width follows from the population P: sigma = sqrt(P / (2 pi 4000 km-2)). A cell gets the integral over its
    extent, times the country's ``share`` of it; the population of each city in the window is conserved. A city without
    land of the country around it, on an island too small for the map, stays in its own cell.
    """
    field = np.zeros((window.nlat, window.nlon))
    widths = np.sqrt(np.maximum(cities.population, 1.0) / (2.0 * np.pi * CITY_DENSITY))
    reach = np.ceil(3.0 * widths / min(window.cell_size)).astype(int)
    all_rows, all_columns = window.cells(cities.lon, cities.lat)
    present = (all_rows >= 0) & (all_rows < window.nlat) & (all_columns >= 0) & (all_columns < window.nlon)
    for half in np.unique(reach).tolist():  # cities with kernels of equal size together
        chosen = present & (reach == half)
        rows, columns, sigma = all_rows[chosen], all_columns[chosen], widths[chosen]

        # share of each city in the cells around it
        row, column = rows[:, None] + np.arange(-half, half + 1), columns[:, None] + np.arange(-half, half + 1)
        along = _integral(row + window.south, cities.lat[chosen], sigma / window.cell_size[1])
        across = _integral(column + window.west, cities.lon[chosen], sigma / window.cell_size[0])
        along *= (row >= 0) & (row < window.nlat)
        across *= (column >= 0) & (column < window.nlon)
        row, column = np.clip(row, 0, window.nlat - 1)[:, :, None], np.clip(column, 0, window.nlon - 1)[:, None, :]
        weight = along[:, :, None] * across[:, None, :] * share[row, column]

        # all of its people, in its own cell where there is no land
        homeless = weight.sum(axis=(1, 2)) == 0.0
        weight[homeless, half, half] = 1.0
        weight *= (cities.population[chosen] / weight.sum(axis=(1, 2)))[:, None, None]
        np.add.at(field, (row, column), weight)
    return field


def _integral(cell: NDArray[np.int64], centre: Array, sigma: Array) -> Array:
    """Return integrals of Gaussians of width sigma [cells] at ``centre`` [degrees] over the cells around `cell`."""
    faces = np.concatenate([cell, cell[:, -1:] + 1], axis=1)
    scaled = (faces - (centre / SPACING)[:, None]) / (np.sqrt(2.0) * sigma[:, None])
    below = np.fromiter(map(erf, scaled.ravel().tolist()), np.float64, scaled.size)
    return np.asarray(0.5 * np.diff(below.reshape(scaled.shape), axis=1))
