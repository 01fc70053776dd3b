"""The built inventory: emission by species, layer and cell at any hour, and what it adds up to."""

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
    """Emission of one pollutant by one country [Gg/a]: where it is on the way from the report to the grid.

    reported     in the national total
    left_out     reported beside it, in the sectors that are left out
    distributed  on the fine grid over the whole country, after the factors of the settings
    in_domain    of that, inside the grid of the case
    """

    country: str
    pollutant: str
    reported: float
    left_out: float
    distributed: float
    in_domain: float


class SectorAmount(NamedTuple):
    """Emission of one species by one sector over a run; the mass is as reported: NO as NO2, sulphate as SO2."""

    species: str
    sector: str
    kilograms_per_day: float
    moles: float


class Inventory(MappedEmissions):
    """Emission of an inventory on the grid of a case, a source.

    rate[k, l, y, x] = sum over pollutant p, sector s, local time z of
                       split[k, p] height[s, l] f(s, z, t) annual[s, z, p, y, x]        [mol/s]

    sectors, pollutants  that emit, the latter as countries report them;  apart  yields each country's part by its code
    """

    kind = "the inventory's sources"

    def __init__(
        self, start: np.datetime64, year: int, *, parts: Mapping[str, Sequence[Part]], sectors: tuple[str, ...],
        zones: Sequence[tuple[ZoneInfo, Sequence[str]]], annual: Array, profiles: TimeProfiles, height: Array,
        totals: Sequence[CountryTotal] = (), notices: Sequence[str] = (), notes: Sequence[str] = (),
        apart: Callable[[], Iterator[tuple[str, "Inventory"]]] = lambda: iter(()),
    ) -> None:  # fmt: skip
        """Take what the builder made.

        year    of the totals;  parts  of each pollutant as species;  zones  of local time with their countries
        annual  [kg/s]  mean over the year of the totals, (sectors, zones, pollutants, lat, lon)
        height  [1]     share by layer, (sectors, layers)
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
        """Return the emission of a window's cells; summary, totals and notes stay those of the whole grid."""
        part = super().part(window)
        part._rate = None
        return part

    @property
    def countries(self) -> tuple[str, ...]:
        """The countries that emit in the grid, each apart where the builder was asked for that."""
        return tuple(iso2 for _, members in self._zones for iso2 in members)

    def selected(self, sectors: Collection[str], countries: Collection[str]) -> "Inventory":
        """Return what some sectors of some countries emit, with all species and layers; of each at least one.

        Raises ValueError for countries that are not apart from others.
        """
        rows = [index for index, sector in enumerate(self.sectors) if sector in sectors]
        zones = [index for index, (_, members) in enumerate(self._zones) if set(members) & set(countries)]
        if any(set(self._zones[index][1]) - set(countries) for index in zones):
            raise ValueError("the inventory does not keep its countries apart")
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
                _add_up(factors, maps, total)
            by_layer = np.empty((pollutants, self.levels, *cells))
            for level, shares in enumerate(self._height.T):
                _add_up(shares, by_sector, by_layer[:, level])
            rate = np.empty((len(self.species), self.levels, *cells))
            for shares, total in zip(self._split, rate, strict=True):
                _add_up(shares, by_layer, total)
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
        end = self._start + length  # each hour that the run touches, with the seconds of it in the run
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
        """Return what is left out, countries without a report, and proxies that were empty, a line each."""
        return [*self._notices, *self._notes]

    def _factors(self, hour: int) -> Array:
        """Time factors of an hour [hours since 1970 UTC], shape (sectors, zones).

        The totals are those of a year, so that each simulated year gets all of them, whether it has 365 days or 366.
        """
        instant = datetime.fromtimestamp(hour * HOUR, UTC)
        factors = [self._profiles.factors(instant.astimezone(zone)) for zone, _ in self._zones]
        return np.stack(factors, axis=1) * (self._days / days_of(instant.year))


def days_of(year: int) -> int:
    """Return the number of days of a year."""
    return 366 if isleap(year) else 365


def _add_up(weights: Array, fields: Array, total: Array) -> None:
    """Write the weighted sum of fields into an array.

    Term after term: products of matrices, and einsum, add up in an order that depends on the shape of the fields, and
    a part of the grid would have other bits than the whole.
    """
    first, *others = np.flatnonzero(weights) if weights.any() else (0,)
    np.multiply(weights[first], fields[first], out=total)
    term = np.empty_like(total) if others else total
    for each in others:
        total += np.multiply(weights[each], fields[each], out=term)
