"""Countries and local times of the cells of a grid, for gridded emission."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cached_property
from pathlib import Path

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.grid import Grid
from airshed.grid.coordinates import around_meridian
from airshed.grid.coverage import FineWindow, box_around, coverage
from airshed.models.air.emissions.countries import Country, read_countries

Zones = Sequence[tuple[tzinfo, Array]]
"""Local times, each with the cells that have it: 1 or 0 (ny, nx)."""


class CellPlaces:
    """Countries and local times of cells, computed on first use.

    Parameters
    ----------
    grid : Grid
        Grid of the case.
    folder : Path
        Folder of an inventory with ``countries.csv`` and ``countries.topo.json``.
    year : int
        Year whose local times group the countries.
    """

    def __init__(self, grid: Grid, folder: Path, year: int) -> None:
        self._grid, self._folder, self._year = grid, folder, year

    @cached_property
    def _countries(self) -> Mapping[str, Country]:
        return read_countries(self._folder / "countries.csv", self._folder / "countries.topo.json")

    @cached_property
    def _land(self) -> Mapping[str, Array]:
        """Land area of each country by cell [m2] (ny, nx), of countries in the grid."""
        found = {}
        for iso2, country in self._countries.items():
            near = [each for each in country.polygons if self._grid.meets(*box_around(each))]
            if near:
                window = FineWindow.around(near, 0.0)
                area = window.regridder(self._grid)(coverage(near, window) * window.area)
                if area.any():
                    found[iso2] = area
        return found

    def share(self, countries: Sequence[str]) -> Array:
        """Return the part of the land in each cell that belongs to some countries (ny, nx); 0 at sea.

        Raises CaseError for an unknown country, and for countries without land in the grid.
        """
        for iso2 in countries:
            if iso2 not in self._countries:
                raise CaseError(
                    f"emissions.gridded: {iso2!r} in countries is unknown; {suggestion(iso2, self._countries)}"
                )
        land = sum(self._land.values(), np.zeros(self._grid.shape[1:]))
        own = np.zeros(self._grid.shape[1:])
        for iso2 in countries:
            own += self._land.get(iso2, 0.0)
        if not own.any():
            raise CaseError(f"emissions.gridded: {', '.join(countries)} has no land inside the grid; correct countries")
        return np.asarray(np.divide(own, land, out=np.zeros_like(land), where=land > 0.0))

    @cached_property
    def zones(self) -> Zones:
        """Local time of each cell: of the country with most land in it, elsewhere of the longitude."""
        solar = np.round(around_meridian(self._grid.lon, 0.0) / 15.0)
        names, areas = list(self._land), list(self._land.values())
        main = np.argmax(areas, axis=0) if areas else np.zeros(solar.shape, int)
        on_land = np.any(areas, axis=0) if areas else np.zeros(solar.shape, bool)
        masks: dict[tuple[timedelta | None, ...], tuple[tzinfo, Array]] = {}

        def add(zone: tzinfo, cells: Array) -> None:
            instants = [datetime(self._year, month, 1, tzinfo=UTC) for month in (1, 7)]
            key = tuple(instant.astimezone(zone).utcoffset() for instant in instants)
            first, mask = masks.get(key, (zone, np.zeros(solar.shape)))
            masks[key] = first, mask + cells

        for number, iso2 in enumerate(names):
            cells = on_land & (main == number)
            if cells.any():
                add(self._countries[iso2].zone, cells.astype(np.float64))
        for hours in np.unique(solar[~on_land]).tolist():
            add(timezone(timedelta(hours=hours)), (~on_land & (solar == hours)).astype(np.float64))
        return list(masks.values())
