"""The built inventory: emission by species, layer and cell at any hour, and what it adds up to."""

from calendar import isleap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from airshed.grid.window import Window
from airshed.models.air.emissions.profiles import TimeProfiles
from airshed.models.air.emissions.split import Part

Array = NDArray[np.float64]

HOUR = 3600
"""Seconds of an hour, over which emission is constant."""


@dataclass(frozen=True)
class CountryTotal:
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


@dataclass(frozen=True)
class SectorAmount:
    """Emission of one species by one sector over a run; the mass is as reported: NO as NO2, sulphate as SO2."""

    species: str
    sector: str
    kilograms_per_day: float
    moles: float


@dataclass(frozen=True)
class InventoryAxes:
    """Parts of each pollutant as species, sectors that emit, zones of local time with their countries, and the year."""

    parts: Mapping[str, Sequence[Part]]
    sectors: tuple[str, ...]
    zones: Sequence[tuple[ZoneInfo, Sequence[str]]]
    year: int


class Inventory:
    """Emission of an inventory on the grid of a case, a source.

    rate[k, l, y, x] = sum over pollutant p, sector s, local time z of
                       split[k, p] height[s, l] f(s, z, t) annual[s, z, p, y, x]        [mol/s]

    sectors  that emit
    """

    changes = ()

    def __init__(
        self, start: np.datetime64, axes: InventoryAxes, annual: Array, profiles: TimeProfiles, height: Array,
        account: tuple[Sequence[CountryTotal], Sequence[str], Sequence[str]],
        apart: Callable[[], Iterator[tuple[str, "Inventory"]]] = lambda: iter(()),
    ) -> None:  # fmt: skip
        """Take the parts that the builder made.

        annual   [kg/s]  mean over the year of the totals, (sectors, zones, pollutants, lat, lon)
        height   [1]     share by layer, (sectors, layers)
        account  national totals, a line for each thing to note, and those of them to be shown
        apart    yields each country's part of this inventory, by its code
        """
        self._days = days_of(axes.year)
        self._start = int(start.astype("datetime64[s]").astype(np.int64))
        self._parts, self.sectors, self._annual, self._profiles = axes.parts, axes.sectors, annual, profiles
        self._zones = tuple(zone for zone, _ in axes.zones)
        self._members = tuple(tuple(members) for _, members in axes.zones)
        self._annual_total = annual.sum(axis=(3, 4))
        self.species = tuple(dict.fromkeys(part.species for parts in axes.parts.values() for part in parts))
        self.levels = int(np.flatnonzero(height.any(axis=0)).max()) + 1
        self._height = height[:, : self.levels]
        self._split = np.zeros((len(self.species), len(axes.parts)))
        for column, of_pollutant in enumerate(axes.parts.values()):
            for part in of_pollutant:
                self._split[self.species.index(part.species), column] += part.moles
        self._account, self.apart = account, apart
        self._hour: int | None = None
        self._rate = np.zeros((len(self.species), self.levels, *annual.shape[-2:]))

    def part(self, window: Window) -> "Inventory":
        """Return the emission of a window's cells; summary, totals and notes stay those of the whole grid."""
        part = copy(self)
        part._annual, part._hour = np.ascontiguousarray(window.of(self._annual)), None
        return part

    @property
    def countries(self) -> tuple[str, ...]:
        """The countries that emit in the grid, each apart where the builder was asked for that."""
        return tuple(iso2 for members in self._members for iso2 in members)

    def selected(self, sectors: Collection[str], countries: Collection[str]) -> "Inventory":
        """Return what some sectors of some countries emit, with all species and layers; of each at least one.

        Raises ValueError for countries that are not apart from others.
        """
        rows = [index for index, sector in enumerate(self.sectors) if sector in sectors]
        zones = [index for index, members in enumerate(self._members) if set(members) & set(countries)]
        if any(set(self._members[index]) - set(countries) for index in zones):
            raise ValueError("the inventory does not keep its countries apart")
        part = copy(self)
        part._annual = np.ascontiguousarray(self._annual[np.ix_(rows, zones)])
        part._annual_total, part._height = self._annual_total[np.ix_(rows, zones)], self._height[rows]
        part._profiles, part._hour = self._profiles.selected(rows), None
        part.sectors = tuple(self.sectors[index] for index in rows)
        part._zones = tuple(self._zones[index] for index in zones)
        part._members = tuple(self._members[index] for index in zones)
        return part

    def rate(self, seconds: float) -> Array:
        """Emission [mol/s per cell], shape (species, levels, lat, lon), constant within each hour [h, h + 1) UTC.

        The array is read-only and shared by all calls within an hour.
        """
        hour = int(np.floor((self._start + seconds) / HOUR))
        if hour != self._hour:
            sectors, _, pollutants, *cells = self._annual.shape
            by_sector = np.empty((sectors, pollutants, *cells))
            for factors, maps, total in zip(self._factors(hour), self._annual, by_sector, strict=True):
                _add_up(factors, maps, total)
            by_layer = np.empty((pollutants, self.levels, *cells))
            for level, shares in enumerate(self._height.T):
                _add_up(shares, by_sector, by_layer[:, level])
            rate = np.empty((len(self.species), self.levels, *cells))
            for shares, total in zip(self._split, rate, strict=True):
                _add_up(shares, by_layer, total)
            rate.setflags(write=False)
            self._hour, self._rate = hour, rate
        return self._rate

    def worth(self, each: Array, seconds: float) -> Array:
        """Return what the emission of an hour is worth, by sector and pollutant (sectors, pollutants).

        each  what a rate of 1 mol/s of each species is worth (species, levels, lat, lon)
        """
        by_pollutant = np.tensordot(self._split, each, axes=(0, 0))
        factors = self._factors(int(np.floor((self._start + seconds) / HOUR)))
        found = np.empty(self._annual.shape[:1] + self._annual.shape[2:3])
        for row, (weights, maps, shares) in enumerate(zip(factors, self._annual, self._height, strict=True)):
            columns = np.einsum("pl...,l->p...", by_pollutant, shares)
            found[row] = np.einsum("pyx,zpyx,z->p", columns, maps, weights)
        return found

    @property
    def pollutants(self) -> tuple[str, ...]:
        """The pollutants, as countries report them."""
        return tuple(self._parts)

    def summary(self, length: float = 86400.0) -> list[SectorAmount]:
        """Emission by species and sector over ``length`` seconds [s] from the start, in the grid of the case.

        Only species and sectors that emit are listed, species in the order of :attr:`species`.
        """
        factors = sum(weight * self._factors(hour) for hour, weight in self._hours(length))
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
        return list(self._account[0])

    def notes(self) -> list[str]:
        """What is left out, countries without a report, and proxies that were empty, a line each."""
        return list(self._account[1])

    def notices(self) -> list[str]:
        """Which countries in the area report nothing, or less than others, a line each."""
        return list(self._account[2])

    def _factors(self, hour: int) -> Array:
        """Time factors of an hour [hours since 1970 UTC], shape (sectors, zones).

        The totals are those of a year, so that each simulated year gets all of them, whether it has 365 days or 366.
        """
        instant = datetime.fromtimestamp(hour * HOUR, UTC)
        factors = [self._profiles.factors(instant.astimezone(zone)) for zone in self._zones]
        return np.stack(factors, axis=1) * (self._days / days_of(instant.year))

    def _hours(self, length: float) -> list[tuple[int, float]]:
        """The hours that a run of ``length`` seconds touches, each with the seconds of it in the run."""
        end = self._start + length
        hours = range(self._start // HOUR, int(np.ceil(end / HOUR)))
        return [(hour, min(end, (hour + 1) * HOUR) - max(self._start, hour * HOUR)) for hour in hours]


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
