"""National totals by sector, as countries report them to EMEP/CEIP, and the settings of the inventory."""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from airshed.core.errors import CaseError, DataError
from airshed.core.text import suggestion
from airshed.io.tables import read_table, unique

MEMO_ITEMS: Final = ("N_Natural", "O_AviCruise", "P_IntShipping", "z_Memo")
"""Memo items, which are not part of the national totals: nature, aircraft in cruise, international shipping, others."""


TOTALS_FILE: Final = "national_totals.csv"
"""Name of the table of totals of several years, in the folder of an inventory."""

SPLIT_FILE: Final = "species_split.csv"
"""Name of the table that splits pollutants to compounds, in the folder of an inventory."""


@dataclass(frozen=True)
class InventorySettings:
    """Settings of an inventory.

    folder        folder of the tables, the map and the methane grid (docs/how-to/emissions.md lists them)
    year          year of the national totals
    simulated     year of the run if it has no totals, so that ``year`` is the nearest one with totals
    pollutants    pollutants to emit, as named in the table of totals, without pollutants that the species map omits
    scale         factors for what-if runs by pollutant, sector, country (ISO 3166 two letters), or several of them
                  joined by a slash: {"NOx": 0.7, "F_RoadTransport": 0.5, "DE/A_PublicPower": 0.8}; all matching
                  factors are multiplied
    leave_out     sectors to omit
    countries_apart  whether countries with the same local time are stored separately, so that each can be selected
    raises  CaseError for a factor that is negative or not a finite number
    """

    folder: Path
    year: int = 2022
    pollutants: tuple[str, ...] = ("NOx", "SOx", "NMVOC", "CO", "NH3")
    scale: Mapping[str, float] = field(default_factory=dict)
    leave_out: tuple[str, ...] = MEMO_ITEMS
    countries_apart: bool = False
    simulated: int | None = None

    def __post_init__(self) -> None:
        for key, factor in self.scale.items():
            if not (math.isfinite(factor) and factor >= 0.0):
                raise CaseError(f"emissions.scale: the factor of {key} is {factor:g}; give a number of 0 or more")

    @property
    def split_file(self) -> Path:
        """The table that splits pollutants to compounds."""
        return self.folder / SPLIT_FILE

    def check_scale(self, countries: Iterable[str], sectors: Iterable[str]) -> None:
        """Raise CaseError for a factor whose key is not a pollutant, sector or country."""
        known = {*self.pollutants, *countries, *sectors}
        for key in self.scale:
            for name in key.split("/"):
                if name not in known:
                    raise CaseError(
                        f"emissions.scale: {name!r} is not a pollutant, sector or country; {suggestion(name, known)}"
                    )

    def factor(self, country: str, sector: str, pollutant: str) -> float:
        """Return the product of all matching factors."""
        return scale_factor(self.scale, country, sector, pollutant)


def scale_factor(scale: Mapping[str, float], *names: str) -> float:
    """Return the product of the factors whose keys, such as ``DE/NOx``, only have some names."""
    return math.prod(factor for key, factor in scale.items() if set(names).issuperset(key.split("/")))


COLUMNS = ("iso2", "year", "sector", "pollutant", "unit", "value")

OTHER_POLLUTANTS: Final = (
    "PM2.5", "PM10", "TSP", "BC", "CH4", "CO2", "N2O", "Pb", "Cd", "Hg", "As", "Cr", "Cu", "Ni", "Se", "Zn", "PAHs",
    "PCDD/F", "HCB", "PCBs",
)  # fmt: skip
"""Other reported pollutants, which a table may contain."""

_YEAR: Final = re.compile("[12][0-9]{3}")
_YEAR_TABLE: Final = re.compile(r"national_totals_([12][0-9]{3})\.csv(?:\.gz)?")
_LARGEST: Final = 1e8  # more than the whole world emits of anything [Gg/a]; of CO2 it is 4e7
Key = tuple[str, str, str]  # Country, sector, pollutant


@dataclass(frozen=True)
class NationalTotals:
    """Reported emission [Gg/a] by country, sector and pollutant, in the national totals and in omitted sectors.

    other_years  line and year of totals that the table has only for other years
    """

    emitted: dict[Key, float]
    left_out: dict[Key, float]
    other_years: dict[Key, tuple[int, str]]

    def countries(self) -> frozenset[str]:
        """The countries with reports."""
        return frozenset(country for country, _, _ in (*self.emitted, *self.left_out))

    def gaps(self, country: str) -> list[str]:
        """Return the missing reports of a country with other reports, a sentence each."""
        reported = {key for key in (*self.emitted, *self.left_out) if key[0] == country}
        pollutants = sorted({key[2] for key in self.emitted} - {key[2] for key in reported})
        told = [f"{country} has no totals of {', '.join(pollutants)}"] if reported and pollutants else []
        elsewhere = {key: place for key, place in self.other_years.items() if key[0] == country}
        if elsewhere:
            (_, sector, pollutant), (line, year) = next(iter(elsewhere.items()))
            several = f"{len(elsewhere)} totals" if len(elsewhere) > 1 else "a total"
            told.append(
                f"{country} has {several} only for other years ({pollutant} of {sector} of {year}, line {line})"
            )
        return told


def years_of(folder: Path) -> tuple[int, ...]:
    """Return the years with totals of an inventory, ascending; raises DataError."""
    main = folder / TOTALS_FILE
    years = {row.text("year") for row in read_table(main, ("year",))} if main.exists() else set()
    return tuple(sorted({int(year) for year in years if _YEAR.fullmatch(year)} | set(_year_tables(folder))))


def _year_tables(folder: Path) -> dict[int, Path]:
    """Return the tables of one year each: national_totals_2019.csv, also compressed as national_totals_2019.csv.gz."""
    found = ((_YEAR_TABLE.fullmatch(path.name), path) for path in sorted(folder.glob("national_totals_*")))
    return {int(match[1]): path for match, path in found if match}


def read_totals(
    folder: Path, settings: InventorySettings, *, pollutants: Collection[str], sectors: Collection[str],
    countries: Collection[str],
) -> NationalTotals:  # fmt: skip
    """Read the totals of the year of the settings; lines of other years and pollutants are skipped.

    The table is that of the year, or else ``national_totals.csv``, which may have several years.

    Raises DataError for an invalid line, an unknown country, sector or pollutant, and a missing year or pollutant.
    """
    path = _year_tables(folder).get(settings.year, folder / TOTALS_FILE)
    known = sorted({*sectors, *MEMO_ITEMS, *settings.leave_out})
    reported = {*pollutants, *settings.pollutants, *InventorySettings.pollutants, *OTHER_POLLUTANTS}
    found: dict[str, tuple[Key, float]] = {}
    other_years: dict[Key, tuple[int, str]] = {}
    years: set[str] = set()
    for row in read_table(path, COLUMNS):
        year, iso2 = row.text("year"), row.text("iso2")
        if not _YEAR.fullmatch(year):
            raise row.error(f"year {year[:40]!r} is not a year; write it with four digits, such as 2022")
        if iso2 not in countries:
            raise row.error(f"iso2 {iso2[:40]!r} is not in countries.csv; {suggestion(iso2, countries)}")
        key = (iso2, row.known("sector", known), row.known("pollutant", reported))
        years.add(year)
        if key[2] in pollutants and year == str(settings.year):
            if row.text("unit") != "Gg":
                raise row.error(f"the unit is {row.text('unit')!r}; totals must be in Gg (a year)")
            unique(found, " ".join(key), (key, row.number("value", most=_LARGEST)), row)
        elif key[2] in pollutants:
            other_years[key] = (row.line, year)
    if str(settings.year) not in years:
        there = ", ".join(map(str, years_of(folder))) or "none"
        raise DataError(f"{path} has no totals of {settings.year}; set emissions.year to one of: {there}")
    _require({key[2] for key, _ in found.values()}, pollutants, f"{path} of {settings.year} has no totals of")
    placed = {*sectors, *settings.leave_out}
    _require(placed, {key[1] for key, _ in found.values()}, f"{path.parent / 'sector_proxies.csv'} has no proxies for")
    return NationalTotals(
        {key: value for key, value in found.values() if key[1] not in settings.leave_out},
        {key: value for key, value in found.values() if key[1] in settings.leave_out},
        {key: place for key, place in other_years.items() if " ".join(key) not in found},
    )


def _require(present: Collection[str], wanted: Iterable[str], message: str) -> None:
    missing = sorted(set(wanted).difference(present))
    if missing:
        raise DataError(f"{message} {', '.join(missing)}; add lines for them, or leave them out of the inventory")
