"""Construction of the inventory: national totals x proxies x profiles, by country, then on the grid of the case."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.data import conversion, numbers
from airshed.core.errors import CaseError, DataError
from airshed.core.files import plain_file
from airshed.grid import Grid
from airshed.grid.coordinates import to_degrees
from airshed.grid.coverage import FineWindow, box_around, coverage
from airshed.io.netcdf import load_netcdf
from airshed.io.tables import MISSING
from airshed.models.air.emissions.countries import Country, read_cities, read_countries, read_fuels, read_plants
from airshed.models.air.emissions.inventory import CountryTotal, Inventory, days_of
from airshed.models.air.emissions.profiles import read_height_profiles, read_time_profiles
from airshed.models.air.emissions.proxies import MARGIN, PLANTS, CountryFields, MethaneGrid, normalised, read_sectors
from airshed.models.air.emissions.split import species_parts, split_of
from airshed.models.air.emissions.totals import InventorySettings, read_totals
from airshed.models.air.species_map.parts import EmissionMap

Footprint = tuple[FineWindow, Array, Array]
"""Country on the fine grid: its window, and the fractions of the country and of all land in each cell, (nlat, nlon)."""

_MOST_METHANE: Final = 1.0  # [mol m-2 s-1]: a thousand times the strongest landfills and mines in a cell
_KG_PER_GG: Final = 1e6


def build_inventory(
    settings: InventorySettings, grid: Grid, start: np.datetime64, species: Iterable[str],
    emissions: EmissionMap | None = None, *, apart: bool = False,
) -> Inventory:  # fmt: skip
    """Distribute the national totals of every country that the grid touches, and split them to the species.

    ``emissions`` maps the compounds of the inventory to species, by default to the species of the same name.

    Each total is distributed over the whole country on a fine grid, which conserves the sum, then aggregated
    conservatively onto ``grid`` and cut at its edge. ``start`` is the UTC time of second 0 of ``rate``.
    ``apart`` stores countries with the same local time separately, so that each can be selected.

    Raises DataError for a missing or faulty file, naming it and its line; CaseError for settings that do not fit the
    data or the mechanism, and for a grid that touches no country of the map.
    """
    make = partial(_Distribution, settings, grid, tuple(species), emissions)
    whole = make()

    def each() -> Iterator[tuple[str, Inventory]]:
        again = make()  # repeated, since a run does not need separate countries
        for iso2, annual in again.annual.items():
            yield iso2, again.inventory({iso2: annual}, start)

    return whole.inventory(whole.annual, start, each, apart=apart)


class _Distribution:
    """National totals on a grid by country, and their sums.

    annual  mean over the year [kg/s] by country, (sectors, pollutants, lat, lon)
    """

    def __init__(
        self, settings: InventorySettings, grid: Grid, species: tuple[str, ...], emissions: EmissionMap | None
    ) -> None:
        # tables
        folder = settings.folder
        emissions = EmissionMap.same(species) if emissions is None else emissions
        self.settings, self.grid = settings, grid
        self.parts = species_parts(split_of(settings.split_file, settings.pollutants, emissions), emissions, species)
        sectors = read_sectors(folder / "sector_proxies.csv")
        self.countries = read_countries(folder / "countries.csv", folder / "countries.topo.json")
        settings.check_scale(self.countries, sectors)
        self._totals = read_totals(folder, settings, pollutants=self.parts, sectors=sectors, countries=self.countries)
        self.mixture = {name: shares for name, shares in sectors.items() if name not in settings.leave_out}

        # countries in the grid
        present = _footprints(self.countries, grid)
        silent = [iso2 for iso2 in present if iso2 not in self._totals.countries()]
        reporting = [iso2 for iso2 in present if iso2 not in silent]
        if not reporting:
            raise CaseError(
                f"no country of the inventory {folder} has land inside the grid; remove emissions.inventory"
            )
        self.notices = [f"no totals of {settings.year}, so no emission: {', '.join(silent)}"] if silent else []
        if settings.simulated is not None:
            year = f"no totals of {settings.simulated}: those of {settings.year}, the nearest year, are used"
            self.notices.insert(0, year)
        self.notices += [f"national_totals.csv: {gap}" for iso2 in present for gap in self._totals.gaps(iso2)]
        self.notes = [
            f"left out: {', '.join(settings.leave_out) or 'nothing'}",
            "international shipping is not in the national totals: there is no emission from sea lanes",
        ]

        # proxies of each of them
        self._fuels = read_fuels(folder / "fuel_factors.csv", tuple(self.parts))
        cities = read_cities(folder / "cities.csv", reporting, self.countries)
        plants = read_plants(folder / "power_plants.csv", reporting, self._fuels, self.countries)
        methane = read_methane(folder / "edgar_methane_2012.nc")
        self._sums: list[dict[tuple[str, str], float]] = [defaultdict(float), defaultdict(float)]  # over all sectors
        for sums, amounts in zip(self._sums, (self._totals.emitted, self._totals.left_out), strict=True):
            for (iso2, _, pollutant), amount in amounts.items():
                sums[iso2, pollutant] += amount
        self.annual: dict[str, Array] = {}
        self.rows: list[CountryTotal] = []
        for iso2 in reporting:
            fields = CountryFields(*present[iso2], cities[iso2], tuple(plants[iso2]), methane)
            self.annual[iso2] = self._distribute(iso2, fields)

    def _distribute(self, iso2: str, fields: CountryFields) -> Array:
        """Return the emission of a country [kg/s] (sectors, pollutants, lat, lon), and add it to the sums."""
        totals, regrid = self._totals, fields.window.regridder(self.grid)
        proxies = tuple(dict.fromkeys(name for shares in self.mixture.values() for name in shares))
        annual = np.zeros((len(self.mixture), len(self.parts), *self.grid.shape[1:]))
        placed: dict[str, tuple[float, Array]] = {}
        for column, pollutant in enumerate(self.parts):
            # each proxy on the fine grid and on the grid of the case; only power plants differ by pollutant
            factors = {fuel: by_pollutant[pollutant] for fuel, by_pollutant in self._fuels.items()}
            for name in proxies if column == 0 else {PLANTS} & set(proxies):
                weights, used = normalised(fields, name, factors)
                placed[name] = float(weights.sum()), regrid(weights)
                substitute = f"{iso2} has no {name}: {used} instead"
                if used != name and substitute not in self.notes:
                    self.notes.append(substitute)

            # totals times proxies
            whole = 0.0
            for row, (sector, shares) in enumerate(self.mixture.items()):
                total = totals.emitted.get((iso2, sector, pollutant), 0.0)
                total *= self.settings.factor(iso2, sector, pollutant)
                for name, share in shares.items():
                    whole += total * share * placed[name][0]
                    annual[row, column] += total * share * placed[name][1]
            reported, left_out = (sums[iso2, pollutant] for sums in self._sums)
            inside = float(annual[:, column].sum())
            self.rows.append(CountryTotal(iso2, pollutant, reported, left_out, whole, inside))
        return annual * (_KG_PER_GG / (days_of(self.settings.year) * SECONDS_PER_DAY))

    def inventory(
        self, by_country: Mapping[str, Array], start: np.datetime64,
        by_itself: Callable[[], Iterator[tuple[str, Inventory]]] = lambda: iter(()), *, apart: bool = False,
    ) -> Inventory:  # fmt: skip
        """Return the inventory of some countries."""
        folder, emitting = self.settings.folder, tuple(self.mixture)
        zones = _local_times(by_country, self.countries, start, apart=apart)
        return Inventory(
            start, self.settings.year, parts=self.parts, sectors=emitting, zones=zones,
            annual=np.stack([sum(by_country[iso2] for iso2 in members) for _, members in zones], axis=1),
            profiles=read_time_profiles(folder, emitting),
            height=read_height_profiles(folder / "height_profiles.csv", emitting, self.grid.layer_faces),
            totals=self.rows, notices=self.notices, notes=self.notes, apart=by_itself,
        )  # fmt: skip


def _footprints(countries: Mapping[str, Country], grid: Grid) -> dict[str, Footprint]:
    """Return the countries with land inside the grid, on windows that contain all of their land."""
    found = {}
    for iso2, country in countries.items():
        if any(grid.meets(*box_around(polygon)) for polygon in country.polygons):
            window = FineWindow.around(country.polygons, MARGIN)
            share = coverage(country.polygons, window)
            if window.regridder(grid)(share).any():
                near = [each for other in countries.values() for each in other.polygons if window.meets(each)]
                found[iso2] = window, share, coverage(near, window)
    return found


def read_methane(path: Path) -> MethaneGrid:
    """Read the methane flux [mol m-2 s-1] on its longitude-latitude grid; raises DataError."""
    plain_file(path, MISSING)
    file = load_netcdf(path)
    if "methane_flux" not in file or set(file["methane_flux"].dims) != {"lat", "lon"}:
        raise DataError(f"{path} has no variable methane_flux on lat and lon; get a fresh copy of the file")
    flux = file["methane_flux"].transpose("lat", "lon")
    axes = {}
    for axis in ("lat", "lon"):
        if axis not in flux.coords or flux.sizes[axis] < 2:
            raise DataError(f"{path}: methane_flux needs a coordinate {axis} of two or more values")
        places = axes[axis] = to_degrees(axis, flux[axis].values, flux[axis].attrs, f"{path}: methane_flux")
        steps = np.diff(places)
        if np.any(np.abs(steps - steps[0]) > 0.01 * np.abs(steps[0])):
            raise DataError(f"{path}: the points of {axis} are not equidistant; get a fresh copy of the file")
    change = conversion(flux.attrs, "mol m-2 s-1", f"{path}: methane_flux")
    grid = MethaneGrid(
        axes["lon"], axes["lat"], change.factor * numbers(flux.values, f"{path}: its methane_flux") + change.offset
    )
    wrong = ~((grid.flux >= 0.0) & (grid.flux <= _MOST_METHANE))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        place = f"lat {grid.lat[row]:g}, lon {grid.lon[column]:g}"
        raise DataError(
            f"{path}: methane_flux is {grid.flux[row, column]:g} at {place}; it must be between 0 and "
            f"{_MOST_METHANE:g} mol m-2 s-1"
        )
    return grid


def _local_times(
    emitting: Iterable[str], countries: Mapping[str, Country], start: np.datetime64, *, apart: bool
) -> list[tuple[ZoneInfo, list[str]]]:
    """Group countries by local time, with equal offsets in January and July, unless they are stored separately."""
    if apart:
        return [(countries[iso2].zone, [iso2]) for iso2 in emitting]
    year = int(str(start.astype("datetime64[Y]")))
    instants = [datetime(year, month, 1, tzinfo=UTC) for month in (1, 7)]
    zones: dict[tuple[object, ...], ZoneInfo] = {}
    members: dict[ZoneInfo, list[str]] = {}
    for iso2 in emitting:
        own = countries[iso2].zone
        kept = zones.setdefault(tuple(instant.astimezone(own).utcoffset() for instant in instants), own)
        members.setdefault(kept, []).append(iso2)
    return list(members.items())
