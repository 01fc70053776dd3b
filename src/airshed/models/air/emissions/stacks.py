"""Emission of stacks: a table of point sources, whose plumes rise in the weather of each hour.

    rate[k, l, c](t) = sum over stacks i in cell c, columns p of
                       parts[k, p] rate[p, i] f(sector of i, local time) share[l, i](weather of the hour)   [mol/s]

The shares of the layers sum to one for each stack, so that the total does not depend on the weather. The emission is
linear in the rates of the table.
"""

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import CaseError, DataError
from airshed.core.text import counted, listed, suggestion
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.emissions.plume_rise import (
    PLUME_TOP,
    air_at_stacks,
    highest_rise,
    layer_fractions,
    plume_rise,
)
from airshed.models.air.emissions.profiles import read_time_profiles
from airshed.models.air.emissions.sectors import SECTORS
from airshed.models.air.emissions.sources import MappedEmissions, hour_of, middle_of_hour
from airshed.models.air.emissions.split import read_split, species_parts, split_of
from airshed.models.air.emissions.stack_table import CONSTANT, StackTable
from airshed.models.air.emissions.totals import OTHER_POLLUTANTS, SPLIT_FILE, scale_factor
from airshed.models.air.species_map.parts import Compound, EmissionMap

if TYPE_CHECKING:
    from airshed.models.air.weather import Meteorology

_NO_COUNTRY: Final = ""


@dataclass(frozen=True)
class StackInput:
    """Tables of stacks of a case.

    split   compounds of the columns that are pollutants;  folder  of the temporal profiles
    """

    tables: tuple[StackTable, ...]
    split: Mapping[str, tuple[Compound, ...]]
    folder: Path

    @classmethod
    def of(
        cls, tables: Sequence[StackTable], folder: Path, emissions: EmissionMap, species: Collection[str]
    ) -> Self:  # fmt: skip
        """Return the input of a case; a column named as a species of the mechanism is that species.

        folder  of the temporal profiles and of the split of pollutants

        Raises CaseError for a column that is neither a species nor a reported pollutant.
        """
        path = folder / SPLIT_FILE
        pollutants = {**read_split(path), **emissions.split}
        columns = [(name, table) for table in tables for name in table.rates if name not in species]
        for name, table in columns:
            if name not in pollutants and name not in OTHER_POLLUTANTS:
                raise CaseError(
                    f"{table.path}, line 1: {name!r} is neither a species of the mechanism nor a pollutant of "
                    f"{path.name}; {suggestion(name, [*species, *pollutants])}"
                )
        given = dict.fromkeys(name for name, _ in columns if name in pollutants)
        return cls(tuple(tables), split_of(path, given, emissions), folder)

    def parts(
        self, table: StackTable, emissions: EmissionMap, molar_masses: Mapping[str, float | None]
    ) -> dict[str, dict[str, float]]:  # fmt: skip
        """Return the species of the columns of a table: {column: {species: moles per kg, or per mole of an amount}}.

        molar_masses  [kg/mol] of all species, None if unknown

        Columns without a species are not in the result. Raises CaseError for an amount of a pollutant, and for the mass
        of a species of unknown composition.
        """
        parts: dict[str, dict[str, float]] = {}
        by_pollutant = species_parts(self.split, emissions, molar_masses)
        for name in table.rates:
            place, mass, is_amount = f"{table.path}, line 1: {name}", molar_masses.get(name), name in table.amounts
            if name in molar_masses:
                if not is_amount and mass is None:
                    raise CaseError(
                        f"{place} is a mass, but the mechanism does not give the composition of the species; give an "
                        f"amount, as {name} [mol/s]"
                    )
                parts[name] = {name: 1.0 if is_amount or mass is None else 1.0 / mass}
            elif name in by_pollutant:
                if is_amount:
                    raise CaseError(f"{place} is a pollutant of several species; give its mass, as {name} [kg/s]")
                moles = dict.fromkeys((each.species for each in by_pollutant[name]), 0.0)
                for each in by_pollutant[name]:
                    moles[each.species] += each.moles
                parts[name] = moles
        return parts

    def check_scale(self, scale: Mapping[str, float]) -> None:
        """Raise CaseError for a factor that is for no column or sector of the tables, in a case without inventory."""
        known = {*SECTORS, *(name for table in self.tables for name in table.rates)}
        for name in (part for key in scale for part in key.split("/")):
            if name not in known:
                raise CaseError(
                    f"emissions.scale: {name!r} is not a sector or a column of the stacks; {suggestion(name, known)}"
                )


class StackEmissions(MappedEmissions):
    """Source with the emission of the stacks of a table; constant in each hour at the plume rise in its middle.

    sectors    sectors of the stacks, empty for constant emission
    countries  one empty name: stacks belong to no country
    """

    kind = "stacks"
    countries = (_NO_COUNTRY,)

    def __init__(
        self, table: StackTable, parts: Mapping[str, Mapping[str, float]], grid: Grid, weather: "Meteorology",
        start: np.datetime64, *, profiles: Path, scale: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        """Prepare the emission.

        parts     {column: {species: moles per kg, or per mole for columns in amounts}}; other columns are omitted
        profiles  folder of the temporal profiles by sector;  scale  factors by pollutant or sector, or both

        Raises DataError if no stack is inside the grid, and for invalid profiles; CaseError for a stack above it.
        """
        # stacks inside the grid
        inside = np.flatnonzero(grid.contains(table.lon, table.lat))
        without = [name for name in table.rates if name not in parts]
        self._notices = [f"{table.path}: no species for {', '.join(without)}: left out"] if without else []
        self._notices += _outside(table, inside, grid)
        table = table.part(inside)
        if table.exhaust.height.max() > grid.layer_faces[-1]:
            raise CaseError(
                f"{table.path}: a stack is {table.exhaust.height.max():g} m high, above the highest layer of the grid, "
                f"{grid.layer_faces[-1]:g} m"
            )
        self._exhaust, self._cells, self._grid = table.exhaust, grid.cells_at(table.lon, table.lat), grid
        highest = float((table.exhaust.height + PLUME_TOP * highest_rise(table.exhaust)).max())
        self.levels = min(int(np.searchsorted(grid.layer_faces, highest)), grid.shape[0])

        # emission of each stack by species [mol/s], (species, stacks)
        self.species = tuple(dict.fromkeys(name for becomes in parts.values() for name in becomes))
        self._rates = np.zeros((len(self.species), table.size))
        for column, becomes in parts.items():
            factors = np.array([scale_factor(scale or {}, column, sector) for sector in table.sectors])
            for name, moles in becomes.items():
                self._rates[self.species.index(name)] += moles * factors * table.rates[column]
        self.pollutants = tuple(parts)

        # temporal profiles by sector and local time
        self.sectors = tuple(dict.fromkeys(table.sectors.tolist()))
        self._sector = np.array([self.sectors.index(each) for each in table.sectors.tolist()])
        zones: tuple[tzinfo, ...] = tuple(dict.fromkeys(table.zones))
        self._zones, self._zone = zones, np.array([zones.index(each) for each in table.zones])
        varying = [each for each in self.sectors if each != CONSTANT]
        self._profiles = read_time_profiles(profiles, varying) if varying else None
        self._start, self._begin = start, int(start.astype("datetime64[s]").astype(np.int64))
        self._weather, self._shares = weather, dict[float, Array]()

    def part(self, window: Window) -> Self:
        """Return the stacks in a window, whose weather the source reads; species, levels and notes are the same."""
        rows, columns = self._cells
        inside = np.flatnonzero(
            (rows >= window.south) & (rows < window.north) & (columns >= window.west) & (columns < window.east)
        )
        part = copy(self)
        part._rates, part._sector, part._zone = self._rates[:, inside], self._sector[inside], self._zone[inside]
        part._grid, part._shares = self._grid.part(window), {}
        part._exhaust = self._exhaust.part(inside)
        part._cells = rows[inside] - window.south, columns[inside] - window.west
        return part

    def selected(self, sectors: Collection[str], countries: Collection[str] = (_NO_COUNTRY,)) -> Self:
        """Return the emission of the stacks of some sectors, with all species and layers."""
        chosen = [index for index, each in enumerate(self.sectors) if each in sectors and countries]
        part = copy(self)
        part._rates = self._rates * np.isin(self._sector, chosen)
        return part

    def rate(self, seconds: float) -> Array:
        """Return the emission [mol/s per cell] in the hour of a time, (species, levels, lat, lon)."""
        rate = np.zeros((len(self.species), self.levels, *self._grid.shape[1:]))
        emitted = self._rates * self._factors(seconds)
        layers = np.arange(self.levels)[:, None]
        for of_species, by_stack in zip(rate, emitted, strict=True):
            np.add.at(of_species, (layers, *self._cells), self._layers(seconds) * by_stack)
        return rate

    def totals(self, seconds: float) -> Array:
        """Return the emission in the hour of a time [mol/s], (species,); it does not depend on the weather."""
        return np.asarray((self._rates * self._factors(seconds)).sum(axis=1))

    def _factors(self, seconds: float) -> Array:
        """Return the time factor of each stack in the hour of a time (stacks,)."""
        if self._profiles is None:
            return np.ones(self._sector.size)
        instant = datetime.fromtimestamp(self._begin + hour_of(seconds, self._start), UTC)
        by_zone = np.stack([self._profiles.factors(instant.astimezone(zone)) for zone in self._zones], axis=1)
        rows = iter(by_zone)
        factors = np.stack([np.ones(len(self._zones)) if each == CONSTANT else next(rows) for each in self.sectors])
        return np.asarray(factors[self._sector, self._zone])

    def _layers(self, seconds: float) -> Array:
        """Return the fraction of each stack in each layer in the hour of a time (levels, stacks); the last is cached.

        All parts with the same stacks share the cache.
        """
        middle = middle_of_hour(seconds, self._start)
        shares = self._shares.get(middle)
        if shares is None:
            air = air_at_stacks(self._weather.at(middle), self._grid, self._cells, self._exhaust.height)
            rise = plume_rise(self._exhaust, air, self._grid.layer_faces)
            shares = layer_fractions(self._exhaust.height, rise, self._grid.layer_faces[: self.levels + 1])
            self._shares.clear()
            self._shares[middle] = shares
        return shares


def _outside(table: StackTable, inside: npt.NDArray[np.intp], grid: Grid) -> list[str]:
    """Return a notice of the stacks outside the grid; raises DataError if there are no others."""
    outside = table.size - len(inside)
    if outside == table.size:
        west, east, south, north = table.lon.min(), table.lon.max(), table.lat.min(), table.lat.max()
        raise DataError(
            f"{table.path}: all {counted(outside, 'stack')} are outside the area: they are at {west:g} to {east:g} E, "
            f"{south:g} to {north:g} N, the area is {grid}"
        )
    if not outside:
        return []
    emitting = {name: rates.sum() for name, rates in table.rates.items() if rates.any()}
    lost = [f"{100.0 * (1.0 - table.rates[name][inside].sum() / total):.3g} % of {name}"
            for name, total in emitting.items()]  # fmt: skip
    return [f"{table.path}: {outside} of {counted(table.size, 'stack')} are outside the area, with {listed(lost)}"]
