"""Inventory on the grid: emission by species, layer and cell at any hour, and its sums."""

from calendar import isleap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from datetime import UTC, datetime
from typing import NamedTuple, Self
from zoneinfo import ZoneInfo

import numpy as np

from airshed.core.arrays import Array
from airshed.grid.window import Window
from airshed.models.air.emissions.profiles import TimeProfiles
from airshed.models.air.emissions.sources import MappedEmissions
from airshed.models.air.emissions.split import Part

HOUR = 3600  # seconds of an hour, over which emission is constant


class CountryTotal(NamedTuple):
    """Emission of a pollutant by a country [Gg/a], from the report to the grid.

    reported     national total
    left_out     reported in sectors that are omitted
    distributed  on the fine grid over the whole country, with the factors of the settings
    in_domain    part of the distributed emission inside the grid of the case
    """

    country: str
    pollutant: str
    reported: float
    left_out: float
    distributed: float
    in_domain: float


class SectorAmount(NamedTuple):
    """Emission of a species by a sector over a run; the mass is as reported: NO as NO2, sulphate as SO2."""

    species: str
    sector: str
    kilograms_per_day: float
    moles: float


class Inventory(MappedEmissions):
    """Source with the emission of an inventory on the grid of a case.

    rate[k, l, y, x] = sum over pollutant p, sector s, local time z of
                       split[k, p] height[s, l] f(s, z, t) annual[s, z, p, y, x]        [mol/s]

    sectors, pollutants  with emission; pollutants as reported by countries
    `apart`              yields the part of each country by its code
    """

    kind = "the inventory's sources"

    def __init__(
        self, start: np.datetime64, year: int, *, parts: Mapping[str, Sequence[Part]], sectors: tuple[str, ...],
        zones: Sequence[tuple[ZoneInfo, Sequence[str]]], annual: Array, profiles: TimeProfiles, height: Array,
        totals: Sequence[CountryTotal] = (), notices: Sequence[str] = (), notes: Sequence[str] = (),
        apart: Callable[[], Iterator[tuple[str, "Inventory"]]] = lambda: iter(()),
    ) -> None:  # fmt: skip
        """Store the results of the builder.

        year    of the totals;  parts  of each pollutant as species;  zones  of local time with their countries
        annual  [kg/s]  mean over the year of the totals, (sectors, zones, pollutants, lat, lon)
        height  [1]     fraction by layer, (sectors, layers)
        """
        self._days, self._start = days_of(year), int(start.astype("datetime64[s]").astype(np.int64))
        self._parts, self.sectors, self._field, self._profiles = parts, sectors, annual, profiles
        self.pollutants = tuple(parts)
        self._zones = tuple((zone, tuple(members)) for zone, members in zones)
        self._annual_total = annual.sum(axis=(3, 4))
        self.species = tuple(dict.fromkeys(part.species for of_one in parts.values() for part in of_one))
        self.levels = int(np.flatnonzero(height.any(axis=0)).max()) + 1
        self._height = height[:, : self.levels]
        self._split = np.zeros((len(self.species), len(parts)))
        for column, of_pollutant in enumerate(parts.values()):
            for part in of_pollutant:
                self._split[self.species.index(part.species), column] += part.moles
        self._totals, self._notices, self._notes, self.apart = totals, list(notices), notes, apart
        self._rate: tuple[int, Array] | None = None

    def part(self, window: Window) -> Self:
        """Return the emission in a window; summary, totals and notes remain those of the whole grid."""
        part = super().part(window)
        part._rate = None
        return part

    @property
    def countries(self) -> tuple[str, ...]:
        """The countries with emission in the grid, separate ones if the builder was called with `apart`."""
        return tuple(iso2 for _, members in self._zones for iso2 in members)

    @property
    def reported(self) -> dict[str, str]:
        """The reported pollutant of each species; of a species of several pollutants the first one."""
        parts = reversed([(part.species, name) for name, of_one in self._parts.items() for part in of_one])
        return dict(parts)

    def selected(self, sectors: Collection[str], countries: Collection[str]) -> "Inventory":
        """Return the emission of some sectors of some countries, with all species and layers; at least one of each.

        Raises ValueError for countries that are not stored separately.
        """
        rows = [index for index, sector in enumerate(self.sectors) if sector in sectors]
        zones = [index for index, (_, members) in enumerate(self._zones) if set(members) & set(countries)]
        if any(set(self._zones[index][1]) - set(countries) for index in zones):
            raise ValueError("the inventory does not store countries separately")
        part = copy(self)
        part._field = np.ascontiguousarray(self._field[np.ix_(rows, zones)])
        part._annual_total, part._height = self._annual_total[np.ix_(rows, zones)], self._height[rows]
        part._profiles, part._rate = self._profiles.selected(rows), None
        part.sectors = tuple(self.sectors[index] for index in rows)
        part._zones = tuple(self._zones[index] for index in zones)
        return part

    def rate(self, seconds: float) -> Array:
        """Emission [mol/s per cell], shape (species, levels, lat, lon), constant within each hour [h, h + 1) UTC.

        The array is read-only and shared by all calls within an hour.
        """
        hour = int(np.floor((self._start + seconds) / HOUR))
        if self._rate is None or self._rate[0] != hour:
            sectors, _, pollutants, *cells = self._field.shape
            by_sector = np.empty((sectors, pollutants, *cells))
            for factors, maps, total in zip(self._factors(hour), self._field, by_sector, strict=True):
                add_up(factors, maps, total)
            by_layer = np.empty((pollutants, self.levels, *cells))
            for level, shares in enumerate(self._height.T):
                add_up(shares, by_sector, by_layer[:, level])
            rate = np.empty((len(self.species), self.levels, *cells))
            for shares, total in zip(self._split, rate, strict=True):
                add_up(shares, by_layer, total)
            rate.setflags(write=False)
            self._rate = hour, rate
        return self._rate[1]

    def contributions(self, each: Array, seconds: float) -> Array:
        """Return the contribution of the emission of an hour by sector and pollutant (sectors, pollutants).

        each  sensitivity to a rate of 1 mol/s of each species (species, levels, lat, lon)
        """
        by_pollutant = np.tensordot(self._split, each, axes=(0, 0))
        factors = self._factors(int(np.floor((self._start + seconds) / HOUR)))
        found = np.empty(self._field.shape[:1] + self._field.shape[2:3])
        for row, (weights, maps, shares) in enumerate(zip(factors, self._field, self._height, strict=True)):
            columns = np.einsum("pl...,l->p...", by_pollutant, shares)
            found[row] = np.einsum("pyx,zpyx,z->p", columns, maps, weights)
        return found

    def summary(self, length: float = 86400.0) -> list[SectorAmount]:
        """Emission by species and sector over ``length`` seconds [s] from the start, in the grid of the case.

        Only species and sectors that emit are listed, species in the order of :attr:`species`.
        """
        end = self._start + length  # each hour with its seconds in the run
        hours = range(self._start // HOUR, int(np.ceil(end / HOUR)))
        factors = sum(
            (min(end, (hour + 1) * HOUR) - max(self._start, hour * HOUR)) * self._factors(hour) for hour in hours
        )
        kilograms = np.einsum("sz,szp->sp", factors, self._annual_total)
        rows = []
        for species in self.species:
            for sector, masses in zip(self.sectors, kilograms, strict=True):
                parts = [
                    (part, mass)
                    for mass, of_pollutant in zip(masses, self._parts.values(), strict=True)
                    for part in of_pollutant
                    if part.species == species and mass > 0.0
                ]
                if parts:
                    mass = sum(part.share * mass for part, mass in parts)
                    moles = sum(part.moles * mass for part, mass in parts)
                    rows.append(SectorAmount(species, sector, float(mass) * 86400.0 / length, float(moles)))
        return rows

    def country_totals(self) -> list[CountryTotal]:
        """National totals by country and pollutant, as reported, as distributed and inside the grid."""
        return list(self._totals)

    def notes(self) -> list[str]:
        """Return omissions, countries without a report, and empty proxies, a line each."""
        return [*self._notices, *self._notes]

    def _factors(self, hour: int) -> Array:
        """Return the time factors of an hour [hours since 1970 UTC], shape (sectors, zones).

        Each simulated year has the annual totals, with 365 or 366 days.
        """
        instant = datetime.fromtimestamp(hour * HOUR, UTC)
        factors = [self._profiles.factors(instant.astimezone(zone)) for zone, _ in self._zones]
        return np.stack(factors, axis=1) * (self._days / days_of(instant.year))


def days_of(year: int) -> int:
    """Return the number of days of a year."""
    return 366 if isleap(year) else 365


def add_up(weights: Array, fields: Array, total: Array) -> None:
    """Write the weighted sum of fields into an array.

    The order of terms is fixed. Matrix products and einsum sum in an order that depends on the shape of the fields: a
    part of the grid would differ from the whole grid by round-off.
    """
    first, *others = np.flatnonzero(weights) if weights.any() else (0,)
    np.multiply(weights[first], fields[first], out=total)
    term = np.empty_like(total) if others else total
    for each in others:
        total += np.multiply(weights[each], fields[each], out=term)
