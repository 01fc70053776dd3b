"""Gridded emission: fields of netCDF files of any known layout, regridded to the grid of the case."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final, NamedTuple, Self

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import CaseError
from airshed.core.text import listed, suggestion
from airshed.grid.window import Window
from airshed.models.air.emissions.fields import FieldSettings
from airshed.models.air.emissions.inventory import add_up
from airshed.models.air.emissions.periods import Periods
from airshed.models.air.emissions.profiles import TimeProfiles
from airshed.models.air.emissions.sectors import SECTORS
from airshed.models.air.emissions.sources import HOUR, MappedEmissions, hour_of
from airshed.models.air.emissions.targets import Target

SHIPPED_TABLES: Final = "cases/west-europe/emissions"
"""Shipped profiles and countries, used where the case has no inventory."""


class FileTotal(NamedTuple):
    """Emission of a file [kg/day], or [mol/day] where the mass is unknown: mean of the fields that a run uses."""

    file: str
    layout: str
    name: str
    sector: str
    unit: str
    whole: float
    inside: float


@dataclass(frozen=True, eq=False)
class SectorProfile:
    """Time profile of one sector in the local times of the cells.

    within  period of the fields that are multiplied: "year", "month" or "day"
    """

    profiles: TimeProfiles
    zones: Sequence[tuple[object, Array]]
    within: str

    def factor(self, hour: int) -> Array | float:
        """Return the factor in an hour [hours since 1970 UTC], of each cell (ny, nx) or of all."""
        instant = datetime.fromtimestamp(hour * HOUR, UTC)
        each = [
            float(self.profiles.factors_within(instant.astimezone(zone), self.within)[0])  # type: ignore[arg-type]
            for zone, _ in self.zones
        ]
        if len(each) == 1:
            return each[0]
        return np.asarray(sum(factor * mask for factor, (_, mask) in zip(each, self.zones, strict=True)))

    def part(self, window: Window) -> "SectorProfile":
        """Return the profile of the cells in a window."""
        return SectorProfile(self.profiles, [(zone, window.of(mask)) for zone, mask in self.zones], self.within)


@dataclass(frozen=True, eq=False)
class SectorFields:
    """Fields of one sector on the grid of a case.

    targets  pollutants or species
    fields   [mol/s or kg/s per cell] (records, targets, levels, ny, nx);  periods  of the records
    height   share of each layer [1] (layers,), None if the fields have levels or enter the lowest layer
    profile  in time, None if there is none
    covered  part of each cell that they replace in earlier sources (ny, nx), None if they are added
    """

    targets: Sequence[Target]
    fields: Array
    periods: Periods
    height: Array | None = None
    profile: SectorProfile | None = None
    covered: Array | None = None


class GriddedEmissions(MappedEmissions):
    """Source with emission fields of one sector, or of none, on the grid of a case.

    rate[k, l, y, x] = sum over pollutant p of split[k, p] height[l] f(y, x, t) field[n(t), p, l, y, x]        [mol/s]

    sector     GNFR sector, another name, or "" for files without sectors
    names      of the pollutants or species of the file
    covered    part of the area of each cell that it replaces in earlier sources (ny, nx), None if it is added
    """

    kind = "gridded files"

    def __init__(
        self, start: np.datetime64, place: str, sector: str, data: SectorFields, totals: Sequence[FileTotal] = ()
    ) -> None:
        """Store the fields of a sector; ``place`` names the files."""
        targets, profile, height = data.targets, data.profile, data.height
        self.targets, self._field, self._periods, self.place = tuple(targets), data.fields, data.periods, place
        self.sector, self._height, self._profile = sector, height, profile
        self._start = int(start.astype("datetime64[s]").astype(np.int64))
        self._start_time = start
        self.totals, self.covered = tuple(totals), data.covered
        self._notices, self._notes = [], list[str]()
        self.species = tuple(dict.fromkeys(name for target in targets for name, _ in target.parts))
        self._split = np.zeros((len(self.species), len(targets)))
        for column, target in enumerate(targets):
            for name, factor in target.parts:
                self._split[self.species.index(name), column] += factor
        self._is_plain = np.array_equal(self._split, np.eye(len(self.species))) and profile is None and height is None
        self.levels = data.fields.shape[2] if height is None else height.size
        self.changes = data.periods.changes
        self._rate: tuple[tuple[int, int], Array] | None = None
        self._field.setflags(write=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The pollutants or species of the file."""
        return tuple(target.name for target in self.targets)

    def part(self, window: Window) -> Self:
        """Return the emission in a window; totals and notes remain those of the whole grid."""
        part = super().part(window)
        part._profile, part._rate = self._profile and self._profile.part(window), None
        return part

    def without(self, covered: Array, species: Sequence[str]) -> Self:
        """Return the source without a part of each cell (ny, nx), for targets that only emit some species."""
        part, factor = copy(self), np.ones((len(self.targets), 1, *covered.shape))
        for row, target in enumerate(self.targets):
            if {name for name, _ in target.parts} <= set(species):
                factor[row] -= covered
        part._field = self._field * factor
        part._field.setflags(write=False)
        part._rate = None
        return part

    def stored(self, seconds: float) -> Array:
        """Return the emission of each target [mol/s or kg/s per cell] (targets, levels of the file, ny, nx)."""
        found = self._field[self._periods.at(seconds, self.place)]
        if self._profile is not None:
            found = found * self._profile.factor(self._hour(seconds))
        return np.asarray(found)

    def rate(self, seconds: float) -> Array:
        """Emission [mol/s per cell], shape (species, levels, ny, nx), constant between its times; read-only.

        Raises DataError for a time that the files do not cover.
        """
        if self._is_plain:
            return np.asarray(self._field[self._periods.at(seconds, self.place)])
        key = (self._periods.at(seconds, self.place), self._hour(seconds) if self._profile is not None else 0)
        if self._rate is None or self._rate[0] != key:
            stored = self.stored(seconds)
            by_species = np.empty((len(self.species), *stored.shape[1:]))
            for shares, total in zip(self._split, by_species, strict=True):
                add_up(shares, stored, total)
            if self._height is not None:
                by_species = by_species[:, :1] * self._height[:, None, None]
            by_species.setflags(write=False)
            self._rate = key, by_species
        return self._rate[1]

    def emitted(self, first: float, last: float) -> list[float]:
        """Return the mean emission of each target between two times [kg/day or mol/day]."""
        total = np.zeros(len(self.targets))
        hours = np.arange(hour_of(first, self._start_time) + HOUR, last, HOUR).tolist()
        inside = [time for time in {*hours, *self.changes} if first < time < last]
        for begin, end in pairwise([first, *sorted(inside), last]):
            total += (end - begin) * self.stored(begin).sum(axis=(1, 2, 3))
        daily = total * SECONDS_PER_DAY / (last - first)
        return [float(each) * stored_mass(target)[0] for each, target in zip(daily, self.targets, strict=True)]

    def reported_masses(self) -> dict[str, float]:
        """Return the mass per mole [kg/mol] of species in reports of their pollutant, such as of NO as NO2."""
        return {
            name: target.mass for target in self.targets if target.in_kg and target.mass for name, _ in target.parts
        }

    def notes(self) -> list[str]:
        """Return the notices, and the interpretation of the times and sectors."""
        return [*self._notices, *self._notes]

    def add_notices(self, notices: Sequence[str], notes: Sequence[str] = ()) -> None:
        """Add notices and notes before the present ones."""
        self._notices, self._notes = [*notices, *self._notices], [*notes, *self._notes]

    def _hour(self, seconds: float) -> int:
        return int(np.floor((self._start + seconds) / HOUR))


def replaced(sources: Sequence[tuple[FieldSettings, list[GriddedEmissions]]]) -> list[GriddedEmissions]:
    """Return all sources after each has replaced earlier ones where its settings say so, with a notice."""
    found: list[GriddedEmissions] = []
    for settings, own in sources:
        if settings.overlap == "replace" and own:
            covered = np.max([source.covered for source in own if source.covered is not None], axis=0)
            species = tuple(dict.fromkeys(name for source in own for name in source.species))
            touched = list(dict.fromkeys(each.place for each in found if set(each.species) & set(species)))
            found = [each.without(covered, species) for each in found]
            share = 100.0 * float(covered.mean())
            others = listed(touched, 4) or "no other file"
            own[0].add_notices(
                [f"{own[0].place} replaces {listed(sorted(species), 8)} of {others} in {share:.3g} % of the area"]
            )
        found += own
    return found


def check_scale(scale: Mapping[str, float], sources: Sequence[GriddedEmissions], others: Sequence[str] = ()) -> None:
    """Raise CaseError for a factor whose key is not a pollutant or a sector of the files, or another valid name."""
    known = {
        *SECTORS,
        *filter(None, others),
        *(name for source in sources for name in (source.sector, *source.names) if name),
    }
    for key in scale:
        for name in key.split("/"):
            if name not in known:
                raise CaseError(
                    f"emissions.scale: {name!r} is not a pollutant or sector of the gridded files; "
                    f"{suggestion(name, known)}"
                )


def stored_mass(target: Target) -> tuple[float, str]:
    """Return kilograms per stored amount of a target and "kg", or 1 and "mol" if its mass is unknown."""
    if target.in_kg:
        return 1.0, "kg"
    return (target.mass, "kg") if target.mass else (1.0, "mol")
