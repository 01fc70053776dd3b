"""Where in a country an emission happens: fields on the fine grid that stand in for it.

Each proxy is a field of weights over the cells of a country, made to sum to one. The table of sectors mixes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import DataError
from airshed.grid.coverage import FineWindow
from airshed.io.tables import Row, read_table, unique
from airshed.models.air.emissions.neighbours import smoothed, within
from airshed.models.air.emissions.places import UNKNOWN_CAPACITY, Cities, Plant
from airshed.models.air.emissions.urban import spread

Array = NDArray[np.float64]

RURAL_DENSITY: Final = 300.0
"""Inhabitants per km2 at which half of the land counts as rural (the degree of urbanisation of Eurostat and UN)."""

HINTERLAND: Final = 15.0
"""Standard deviation [km] of the smoothing that spreads traffic between the cities."""

ESTATE: Final = 5.0
"""Standard deviation [km] of the smoothing that spreads industry around the sites that are known."""

SHORE: Final = 20.0
"""Width [km] of the strip of water along a country's land that carries its shipping."""

LARGE_CITY: Final = 400_000.0
"""Population from which a city is taken to have an airport of weight."""

MARGIN: Final = 0.4
"""Margin [degrees] of the window around a country: room for the strip of water."""

_SQUARE_KM: Final = 1e6


@dataclass(frozen=True)
class MethaneGrid:
    """Anthropogenic methane emission of EDGAR: flux [mol m-2 s-1], shape (lat, lon), on uniform axes [degrees]."""

    lon: Array
    lat: Array
    flux: Array

    def on(self, window: FineWindow) -> Array:
        """The flux [mol m-2 s-1] at the centres of the window's cells, nearest neighbour; zero outside the grid."""
        lon, lat = window.centres
        columns = np.rint((lon - self.lon[0]) / (self.lon[1] - self.lon[0])).astype(int)
        rows = np.rint((lat - self.lat[0]) / (self.lat[1] - self.lat[0])).astype(int)
        inside = np.outer((rows >= 0) & (rows < self.lat.size), (columns >= 0) & (columns < self.lon.size))
        found = self.flux[np.clip(rows, 0, self.lat.size - 1)][:, np.clip(columns, 0, self.lon.size - 1)]
        return np.where(inside, found, 0.0)


@dataclass(frozen=True)
class CountryFields:
    """What is known of a country on its window of the fine grid, and the proxies that follow from it.

    share   [1]  part of each cell that is the country's, (nlat, nlon)
    land    [1]  part of each cell that is any country's, (nlat, nlon)
    """

    window: FineWindow
    share: Array
    land: Array
    cities: Cities
    plants: tuple[Plant, ...]
    methane_grid: MethaneGrid

    def proxy(self, name: str) -> Array:
        """The unscaled weights of a proxy, shape (nlat, nlon)."""
        weights: Array = getattr(self, name)
        return weights

    @cached_property
    def population(self) -> Array:
        """Inhabitants per cell: each city a Gaussian of its own width on the country's land."""
        return spread(self.cities, self.window, self.share)

    @cached_property
    def rural(self) -> Array:
        """Land area [m2], less where people are many: area / (1 + density / 300 km-2)."""
        area = self.share * self.window.area
        density = self.population / (self.window.area / _SQUARE_KM)
        return np.asarray(area / (1.0 + density / RURAL_DENSITY))

    @cached_property
    def hinterland(self) -> Array:
        """Population smoothed over 15 km: the roads between and around the cities."""
        return self._smooth(self.population, HINTERLAND)

    @cached_property
    def large_cities(self) -> Array:
        """Inhabitants of the cities that have an airport of weight, or of the largest one."""
        return spread(self.cities.larger_than(LARGE_CITY), self.window, self.share)

    @cached_property
    def industry(self) -> Array:
        """Sites with large combustion plants, by the square root of capacity, smoothed over 5 km."""
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
        """Methane emitted on rural land [mol/s], where it comes from livestock and manure rather than from waste."""
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


PLANTS: Final = "plants"
"""The proxy that differs by pollutant, because fuels do."""

_FIELDS: Final = (
    "population", "rural", "hinterland", "large_cities", "industry", "coast", "methane", "rural_methane",
)  # fmt: skip

PROXIES: Final = (PLANTS, *_FIELDS)
"""Names that the table of sectors may use."""


def normalised(fields: CountryFields, name: str, fuel_factors: dict[str, float]) -> tuple[Array, str]:
    """The weights of a proxy scaled to sum to one, and the name of the proxy that was really taken.

    Where a country has nothing of a proxy (no power plant, no coast), its population stands in, or else its rural land.
    """
    for candidate in (name, "population", "rural"):
        weights = fields.combustion(fuel_factors) if candidate == PLANTS else fields.proxy(candidate)
        total = weights.sum()
        if total > 0.0:
            return weights / total, candidate
    raise DataError("a country has neither people nor land on the map; its polygon is empty")


def read_sectors(path: Path) -> dict[str, dict[str, float]]:
    """The mixture of proxies of each sector, shares that sum to one; raises DataError."""
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
