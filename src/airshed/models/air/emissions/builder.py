"""Builds the inventory: national totals x proxies x profiles, over whole countries, then onto the grid of the case."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import CaseError
from airshed.grid import Grid
from airshed.models.air.emissions.countries import Country, read_countries
from airshed.models.air.emissions.inventory import Account, CountryTotal, Inventory, Layout, days_of
from airshed.models.air.emissions.placement import Placed, Placer, footprints
from airshed.models.air.emissions.profiles import read_height_profiles, read_time_profiles
from airshed.models.air.emissions.proxies import read_sectors
from airshed.models.air.emissions.settings import InventorySettings
from airshed.models.air.emissions.split import Part, species_parts, split_of
from airshed.models.air.emissions.totals import NationalTotals, read_totals
from airshed.models.air.species_map.parts import EmissionMap

Array = NDArray[np.float64]
Mixture = Mapping[str, Mapping[str, float]]
"""The shares of proxies of each sector."""

_KG_PER_GG = 1e6
_DAY = 86400.0


def build_inventory(
    settings: InventorySettings,
    grid: Grid,
    start: np.datetime64,
    species: Iterable[str],
    emissions: EmissionMap | None = None,
    *,
    apart: bool = False,
) -> Inventory:
    """Distribute the national totals of every country that the grid touches, and split them to the species.

    ``emissions`` says what species the inventory's compounds become; without it each is the species of its name.

    Each total is spread over the whole country on a fine grid, so that the country's sum is kept, then aggregated
    conservatively onto ``grid`` and cut at its edge. ``start`` is the UTC time from which ``rate`` counts its seconds.
    ``apart`` keeps countries of one local time apart, so that each can be selected.

    Raises DataError for a missing or faulty file, naming it and its line; CaseError for settings that do not fit the
    data or the mechanism, and for a grid that touches no country of the map.
    """
    make = partial(_made, settings, grid, tuple(species), emissions)
    made = make()
    return made.inventory(made.distribution.annual, start, partial(_each, make, start), apart=apart)


def _each(make: Callable[[], "_Made"], start: np.datetime64) -> Iterator[tuple[str, Inventory]]:
    """Yield each country's part; all are made anew, since a run has no use for them."""
    made = make()
    for iso2, annual in made.distribution.annual.items():
        yield iso2, made.inventory({iso2: annual}, start)


def _made(settings: InventorySettings, grid: Grid, species: tuple[str, ...], emissions: EmissionMap | None) -> "_Made":
    folder = settings.folder
    emissions = EmissionMap.same(species) if emissions is None else emissions
    parts = species_parts(split_of(settings.split_file, settings.pollutants, emissions), emissions, species)
    sectors = read_sectors(folder / "sector_proxies.csv")
    countries = read_countries(folder / "countries.csv", folder / "countries.topo.json")
    settings.check_scale(countries, sectors)
    totals = read_totals(
        folder / "national_totals.csv", settings, pollutants=parts, sectors=sectors, countries=countries
    )
    mixture = {name: shares for name, shares in sectors.items() if name not in settings.leave_out}
    distribution = _Distribution(settings, totals, mixture, tuple(parts))
    distribution.run(countries, grid)
    return _Made(folder, grid, countries, parts, distribution)


@dataclass(frozen=True)
class _Made:
    """The emission of all countries on a grid, and what it was made of."""

    folder: Path
    grid: Grid
    countries: Mapping[str, Country]
    parts: Mapping[str, Sequence[Part]]
    distribution: "_Distribution"

    def inventory(
        self, by_country: Mapping[str, Array], start: np.datetime64,
        by_itself: Callable[[], Iterator[tuple[str, Inventory]]] = lambda: iter(()), *, apart: bool = False,
    ) -> Inventory:  # fmt: skip
        """Return the inventory of some countries."""
        distribution, emitting = self.distribution, tuple(self.distribution.mixture)
        zones = _local_times(by_country, self.countries, start, apart=apart)
        return Inventory(
            start,
            Layout(
                self.parts,
                emitting,
                tuple(zone for zone, _ in zones),
                tuple(tuple(each) for _, each in zones),
                distribution.settings.year,
            ),
            np.stack([sum(by_country[iso2] for iso2 in members) for _, members in zones], axis=1),
            read_time_profiles(self.folder, emitting),
            read_height_profiles(self.folder / "height_profiles.csv", emitting, self.grid.layer_faces),
            Account(distribution.rows, [*distribution.notices, *distribution.notes], distribution.notices),
            by_itself,
        )


class _Distribution:
    """Spreads totals country by country, and keeps account."""

    def __init__(
        self, settings: InventorySettings, totals: NationalTotals, mixture: Mixture, pollutants: tuple[str, ...]
    ) -> None:
        self.settings, self.totals, self.mixture, self.pollutants = settings, totals, mixture, pollutants
        self.sums = tuple(_over_sectors(amounts) for amounts in (totals.emitted, totals.left_out))
        self.annual: dict[str, Array] = {}
        self.rows: list[CountryTotal] = []
        self.notices: list[str] = []
        self.notes = [
            f"left out: {', '.join(settings.leave_out) or 'nothing'}",
            "international shipping is in no national total, so the sea lanes emit nothing",
        ]

    def run(self, countries: Mapping[str, Country], grid: Grid) -> None:
        """Fill ``annual``, kg/s of (sector, pollutant, lat, lon) by country, and the accounts."""
        present = footprints(countries, grid)
        silent = [iso2 for iso2 in present if iso2 not in self.totals.countries()]
        if silent:
            self.notices.append(f"no totals of {self.settings.year}, so no emission: {', '.join(silent)}")
        reporting = [iso2 for iso2 in present if iso2 not in silent]
        if not reporting:
            raise CaseError(
                f"no country of the inventory {self.settings.folder} has land inside the grid; leave the inventory out"
            )
        self.notices += [f"national_totals.csv: {gap}" for iso2 in present for gap in self.totals.gaps(iso2)]
        placer = Placer(self.settings.folder, reporting, self.pollutants, grid, countries)
        proxies = tuple(dict.fromkeys(name for shares in self.mixture.values() for name in shares))
        for iso2 in reporting:
            placed = placer.place(iso2, present[iso2], proxies)
            self.notes += [f"{iso2} has no {name}: {other} instead" for name, other in placed.substitutes.items()]
            self.annual[iso2] = self._distribute(iso2, placed, grid)

    def _distribute(self, iso2: str, placed: Placed, grid: Grid) -> Array:
        annual = np.zeros((len(self.mixture), len(self.pollutants), *grid.shape[1:]))
        for column, pollutant in enumerate(self.pollutants):
            whole = 0.0
            for row, (sector, shares) in enumerate(self.mixture.items()):
                total = self.totals.emitted.get((iso2, sector, pollutant), 0.0)
                total *= self.settings.factor(iso2, sector, pollutant)
                for name, share in shares.items():
                    whole += total * share * placed.whole[name, pollutant]
                    annual[row, column] += total * share * placed.field[name, pollutant]
            reported, left_out = (of_country.get((iso2, pollutant), 0.0) for of_country in self.sums)
            inside = float(annual[:, column].sum())
            self.rows.append(CountryTotal(iso2, pollutant, reported, left_out, whole, inside))
        return annual * (_KG_PER_GG / (days_of(self.settings.year) * _DAY))


def _over_sectors(amounts: Mapping[tuple[str, str, str], float]) -> dict[tuple[str, str], float]:
    """The sums over sectors of amounts by country, sector and pollutant."""
    sums: dict[tuple[str, str], float] = {}
    for (iso2, _, pollutant), amount in amounts.items():
        sums[iso2, pollutant] = sums.get((iso2, pollutant), 0.0) + amount
    return sums


def _local_times(
    emitting: Iterable[str], countries: Mapping[str, Country], start: np.datetime64, *, apart: bool
) -> list[tuple[ZoneInfo, list[str]]]:
    """The countries by the local time that they keep: the same offsets in January and July are one, if not apart."""
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
