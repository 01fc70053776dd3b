"""Reader of files of gridded emission: files with the same fields are joined, and each sector becomes a source."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import CaseError, DataError
from airshed.core.files import resource
from airshed.core.text import listed
from airshed.grid import Grid
from airshed.models.air.emissions.field_values import FieldReader
from airshed.models.air.emissions.fields import EmissionFile, Field, FieldSettings, emission_files, unused_keys
from airshed.models.air.emissions.gridded import (
    SHIPPED_TABLES,
    FileTotal,
    GriddedEmissions,
    SectorFields,
    SectorProfile,
    stored_mass,
)
from airshed.models.air.emissions.names import is_total, rest_of
from airshed.models.air.emissions.periods import read_periods
from airshed.models.air.emissions.places import CellPlaces
from airshed.models.air.emissions.profiles import read_height_profiles, read_time_profiles
from airshed.models.air.emissions.sectors import SECTORS
from airshed.models.air.emissions.targets import Target, Targets
from airshed.models.air.emissions.totals import scale_factor

if TYPE_CHECKING:
    import xarray as xr

_LEAST_SHARE: Final = 1e-9


@dataclass(frozen=True)
class GriddedContext:
    """Parts of a case that the reader of gridded emission requires.

    targets   species, compounds and pollutants
    length    of the run [s]; infinite if unknown
    folder    tables of profiles and countries
    scale     factors by sector, pollutant, or both joined by a slash
    """

    targets: Targets = field(default_factory=Targets)
    length: float = np.inf
    folder: Path | None = None
    scale: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def tables(self) -> Path:
        """The folder of profiles and countries, by default the shipped one."""
        return self.folder or resource(SHIPPED_TABLES)

    def factor(self, sector: str, name: str) -> float:
        """Return the product of the factors on a sector and a pollutant."""
        return scale_factor(self.scale, sector, name)


def read_gridded(
    data: "Sequence[xr.Dataset | str | Path]", grid: Grid, start: np.datetime64,
    settings: FieldSettings | None = None, context: GriddedContext | None = None, *,
    places: CellPlaces | None = None,
) -> list[GriddedEmissions]:  # fmt: skip
    """Return the emission of files that belong together, a source for each sector.

    Parameters
    ----------
    data : sequence of Dataset or path
        Files with other pollutants, sectors or times; the times of files with the same fields are joined.
    grid : Grid
        Grid of the case.
    start : datetime64
        UTC time of second 0.
    settings : FieldSettings, optional
        How to read the files.
    context : GriddedContext, optional
        Species of the case, length of the run, profiles; by default every variable is a species.
    places : CellPlaces, optional
        Countries and local times of the cells.

    Returns
    -------
    list of GriddedEmissions
        Sources, none if the mechanism has no species for the fields.

    Raises
    ------
    DataError
        For a file that cannot be read, that does not cover the area or the period, and for invalid values.
    CaseError
        For variables that are not known, and settings that do not fit the files.
    """
    settings, context = settings or FieldSettings(), context or GriddedContext()
    year = int(str(start.astype("datetime64[Y]")))
    places = places or CellPlaces(grid, context.tables, year)
    paths = [Path(each) if isinstance(each, str) else each for each in data]
    with emission_files(paths, grid, context.targets, settings) as files:
        groups = [_Group(members, grid, start, settings, context) for members in _groups(files)]
        found = [source for group in groups for source in group.sources(places)]
        if found:
            found[0].add_notices(unused_keys(files, settings))
        return found


def _groups(files: Sequence[EmissionFile]) -> list[list[EmissionFile]]:
    """Return the files by equal fields; files with other pollutants or sectors are groups of their own."""
    found: dict[tuple[object, ...], list[EmissionFile]] = {}
    for file in files:
        found.setdefault(tuple(each.key for each in file.fields) or (file.place,), []).append(file)
    for keys, members in found.items():
        if len(members) > 1 and keys and any(not each.times.dim for each in members):
            raise CaseError(
                f"{members[0].place} and {members[1].place} have the same fields, and no times to separate them; "
                "they would be emitted twice: give one of them"
            )
    _check_once([members[0] for members in found.values()])
    return list(found.values())


def _check_once(files: Sequence[EmissionFile]) -> None:
    """Raise CaseError if a file of an inventory has the total of a pollutant that another file also has.

    The same holds for amounts and fluxes of one sector, whose files have the same name but for ``emi`` or ``flx``.
    """
    by_pollutant: dict[tuple[str, str], list[tuple[Path, str]]] = {}
    for file in files:
        for each in file.fields if file.path is not None and file.layout.file_name else ():
            assert file.path is not None
            by_pollutant.setdefault((file.layout.name, each.target.name), []).append((file.path, each.sector))
    for (_, name), found in by_pollutant.items():
        for (path, sector), (other, other_sector) in permutations(dict.fromkeys(found), 2):
            total = is_total(path.stem)
            same = sector == other_sector and rest_of(path.stem) == rest_of(other.stem)
            if path != other and (total or same):
                what = "the total of" if total else "the same"
                raise CaseError(
                    f"{path} has {what} {name} that {other} also has; it would be emitted twice: give one of them"
                )


class _Group:
    """Files with the same fields at different times."""

    def __init__(
        self, files: Sequence[EmissionFile], grid: Grid, start: np.datetime64, settings: FieldSettings,
        context: GriddedContext,
    ) -> None:  # fmt: skip
        self.files, self.grid, self.start, self.settings, self.context = list(files), grid, start, settings, context
        self.first = self.files[0]
        self.readers = {file.place: FieldReader(file) for file in self.files}
        self.place = self.first.place
        if len(self.files) > 1:
            self.place = f"{self.first.place} and {len(self.files) - 1} more"
        self.name = (
            self.place if self.first.path is None else self.place.replace(self.first.place, self.first.path.name)
        )
        self.profiled: dict[tuple[str, ...], list[str]] = {}
        self._check_extent()
        times, self._where = self._joined_times()
        if len(self.files) > 1:
            for reader in self.readers.values():
                reader.dates = times["time"].values
        periods = read_periods(times, start, self.place)
        any_year = any(each.times.any_year for each in self.files)
        if settings.year is not None or settings.repeat == "year" or any_year:
            if settings.year is not None and not periods.begin.size:
                self._check_year(settings.year)
            periods = periods.of_year(None if any_year else settings.year, context.length, self.place)
        elif settings.repeat == "day":
            periods = periods.of_day(context.length, self.place)
        self.resolution, self.gap = periods.resolution, periods.gap()
        periods.check(context.length, self.place)
        self.records = periods.records(context.length)
        self.periods = periods.renumbered(self.records)

    def _check_year(self, year: int) -> None:
        own = self.first.year
        if own is not None and own != year:
            raise CaseError(f"{self.place} has the fields of {own}, not of {year}; remove year, or give another file")

    def _joined_times(self) -> "tuple[xr.Dataset, list[tuple[EmissionFile, int]]]":
        """Return the times of all files in order, and the file and record of each."""
        import xarray as xr

        records = [(each, number) for each in self.files for number in range(each.times.dataset.sizes.get("time", 1))]
        if len(self.files) == 1:
            return self.first.times.dataset, records
        try:
            times = xr.concat([each.times.dataset for each in self.files], "time")
        except (ValueError, TypeError) as error:
            raise DataError(f"{self.place} have times of different kinds: {error}") from None
        order = np.argsort(times["time"].values, kind="stable")
        return times.isel(time=order), [records[number] for number in order.tolist()]

    def _check_extent(self) -> None:
        """Raise DataError for files that do not cover the area, unless the settings allow it."""
        cells, share = self.first.cells, self.first.cells.covered
        if share < _LEAST_SHARE:
            exchanged = _meet(cells.lat, self.grid.corner_lon) and _meet(cells.lon, self.grid.corner_lat)
            hint = "; are its lat and lon exchanged?" if exchanged else ""
            raise DataError(
                f"{self.place} lies outside the area: it covers {cells.extent}, the area is {self.grid}{hint}"
            )
        if share < 1.0 - 1e-6 and not (self.settings.partial or self.settings.overlap == "replace"):
            raise DataError(
                f"{self.place} covers only {100.0 * share:.3g} % of the area: {cells.extent} of {self.grid}; set "
                "partial = true if the rest has no emission of it"
            )

    def sources(self, places: CellPlaces) -> list[GriddedEmissions]:
        """Return the source of each sector; the first has the notices and notes of the files."""
        by_sector: dict[str, list[int]] = {}
        for number, each in enumerate(self.first.fields):
            by_sector.setdefault(each.sector, []).append(number)
        covered = self._cover(places) if self.settings.overlap == "replace" else None
        mask = places.share(self.settings.countries) if self.settings.countries else None
        found = [self._source(sector, numbers, mask, places, covered) for sector, numbers in by_sector.items()]
        if not found:
            empty = np.zeros((max(len(self.records), 1), 0, 1, *self.grid.shape[1:]))
            found = [GriddedEmissions(self.start, self.place, "", SectorFields((), empty, self.periods))]
        found[0].add_notices(self._notices(), [*self._notes(), *self._profile_notes()])
        return found

    def _profile_notes(self) -> list[str]:
        """Return how the profiles of sectors are used, in words."""
        return [
            f"{self.place}: profiles by {', '.join(used)} of {listed(sectors)}"
            for used, sectors in self.profiled.items()
            if used
        ]

    def _source(
        self, sector: str, numbers: Sequence[int], mask: Array | None, places: CellPlaces, covered: Array | None
    ) -> GriddedEmissions:
        """Return the source of one sector."""
        # fields of all records, of equal targets added up
        fields = [self.first.fields[number] for number in numbers]
        targets = tuple(dict.fromkeys(each.target for each in fields))
        stored: Array | None = None
        whole, inside = np.zeros(len(targets)), np.zeros(len(targets))
        for row, record in enumerate(self.records):
            file, number = self._where[record] if self.periods.begin.size or len(self._where) > 1 else self._where[0]
            for position, each in zip(numbers, fields, strict=True):
                own = file.fields[position]
                values, total = self.readers[file.place].values(own, number, self._seconds(file, own, number))
                if stored is None:
                    stored = np.zeros((len(self.records), len(targets), values.shape[0], *self.grid.shape[1:]))
                elif values.shape[0] > stored.shape[2]:
                    stored = np.pad(stored, [(0, 0), (0, 0), (0, values.shape[0] - stored.shape[2]), (0, 0), (0, 0)])
                column = targets.index(each.target)
                stored[row, column, : values.shape[0]] += values
                whole[column] += total / len(self.records)
                inside[column] += float(values.sum()) / len(self.records)
        if stored is None:  # periods.check has refused files without fields for the run
            raise DataError(f"{self.place} has no fields for the run; give files of its period")

        # countries and factors
        factors = np.array([self.settings.scale * self.context.factor(sector, each.name) for each in targets])
        if mask is not None:
            stored *= mask
        if not np.all(factors == 1.0):
            stored *= factors[:, None, None, None]
        height, profile, used = self._profiles(sector, stored.shape[2], places)
        self.profiled.setdefault(tuple(used), []).append(sector)
        totals = [
            FileTotal(self.name, self.first.layout.name, each.name, sector,
                      stored_mass(each)[1], float(of_all) * SECONDS_PER_DAY * stored_mass(each)[0],
                      float(of_area) * SECONDS_PER_DAY * stored_mass(each)[0])
            for each, of_all, of_area in zip(targets, whole, inside, strict=True)
        ]  # fmt: skip
        source = GriddedEmissions(
            self.start,
            self.place,
            sector,
            SectorFields(targets, stored, self.periods, height, profile, covered),
            totals,
        )
        source.add_notices(self._empty(sector, targets, whole, inside))
        return source

    def _seconds(self, file: EmissionFile, each: Field, number: int) -> float:
        if not each.unit.per:
            return 1.0
        year = self.settings.year or file.year or int(str(self.start.astype("datetime64[Y]")))
        dates = file.times.dataset["time"].values if file.times.dim else None
        return self.readers[file.place].seconds_of(each, None if dates is None else dates[number], year)

    def _profiles(
        self, sector: str, levels: int, places: CellPlaces
    ) -> tuple[Array | None, SectorProfile | None, list[str]]:
        """Return the height and time profile of a sector, and how they are used, in words."""
        if sector not in SECTORS or not self.settings.profiles:
            return None, None, []
        used_for, height, profile = [], None, None
        if levels == 1 and not self.readers[self.first.place].level_dim(self.first.fields[0].variable):
            (shares,) = read_height_profiles(
                self.context.tables / "height_profiles.csv", [sector], self.grid.layer_faces
            )
            used = 1 + int(np.flatnonzero(shares).max())
            height = shares[:used] if used > 1 else None
            used_for.append("height")
        if self.resolution != "hour":
            profile = SectorProfile(read_time_profiles(self.context.tables, [sector]), places.zones, self.resolution)
            used_for += {"year": ["month", "weekday", "hour"], "month": ["weekday", "hour"], "day": ["hour"]}[
                self.resolution
            ]
        return height, profile, used_for

    def _cover(self, places: CellPlaces) -> Array:
        """Return the part of each cell that the files cover, within their countries (ny, nx)."""
        area = self.first.cells.move(self.first.cells.area)
        part = np.minimum(area / self.grid.cell_area, 1.0)
        part = np.where(part > 1.0 - 1e-6, 1.0, part)
        return part * places.share(self.settings.countries) if self.settings.countries else part

    def _notices(self) -> list[str]:
        """Return the notices before a run: omitted fields, cleared values, missing times, cover."""
        first = self.first
        found = [f"{self.place}: no species for {', '.join(first.left_out)}: left out"] if first.left_out else []
        found += [f"{self.place}: {self.gap}"] if self.gap else []
        if first.cells.covered < 1.0 - 1e-6:
            share = 100.0 * first.cells.covered
            found.append(
                f"{self.place} covers {share:.3g} % of the area: {first.cells.extent} of {self.grid}; the rest gets "
                "nothing of it"
            )
        return found

    def _notes(self) -> list[str]:
        """Return the notes of the report: layout, times, molecules of masses, omitted totals."""
        first, found = self.first, []
        found += [f"{self.place}: layout of {first.layout.name}"] if first.layout.name else []
        basis = {each.target.name: each.basis for each in first.fields if each.basis and each.basis != each.target.name}
        found += [f"{self.place}: mass of {name} as {given}" for name, given in basis.items()]
        validity = self.periods.validity
        found += [f"{self.place}: its fields are for {validity}"] if validity else []
        if not self.periods.begin.size and not first.times.dim and first.year is not None:
            found.append(f"{self.place}: its fields are those of {first.year}")
        found += (
            [f"{self.place}: {', '.join(first.skipped)} is the sum of its sectors: left out"] if first.skipped else []
        )
        return found

    def _empty(self, sector: str, targets: Sequence[Target], whole: Array, inside: Array) -> list[str]:
        """Return notices of sources without emission, of cleared values, and of emission outside the area."""
        named = (
            f"{self.place} ({sector})"
            if sector and len({each.sector for each in self.first.fields}) > 1
            else self.place
        )
        found = [f"{self.place}: {line}" for reader in self.readers.values() for line in reader.cleared.values()]
        for reader in self.readers.values():
            reader.cleared.clear()
        emitting = whole > 0.0
        if not emitting.any():
            return [*found, f"{named} emits nothing: all of its values are 0"]
        if not inside[emitting].any():
            return [*found, f"{named} emits nothing in the area: all of its emission is outside"]
        if self.first.cells.covered < 1.0 - 1e-6:
            shares = 100.0 * (1.0 - inside[emitting] / whole[emitting])
            names = [each.name for each, emits in zip(targets, emitting, strict=True) if emits]
            parts = listed([f"{share:.3g} % of {name}" for name, share in zip(names, shares, strict=True)])
            found.append(f"{named}: outside the area are {parts}")
        return found


def _meet(some: Array, others: Array) -> bool:
    return bool(np.min(some) < np.max(others) and np.max(some) > np.min(others))
