"""National totals by sector, as countries report them to EMEP/CEIP."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from airshed.air.emissions.settings import MEMO_ITEMS, InventorySettings
from airshed.air.emissions.tables import Row, read_table, unique
from airshed.core.errors import DataError

COLUMNS = ("iso2", "year", "sector", "pollutant", "unit", "value")

Key = tuple[str, str, str]
"""Country, sector, pollutant."""


@dataclass(frozen=True)
class NationalTotals:
    """Reported emission [Gg/a] by country, sector and pollutant: what is emitted, and what is left out."""

    emitted: dict[Key, float]
    left_out: dict[Key, float]

    def countries(self) -> frozenset[str]:
        """The countries that report anything."""
        return frozenset(country for country, _, _ in (*self.emitted, *self.left_out))


def read_totals(
    path: Path,
    settings: InventorySettings,
    *,
    pollutants: Collection[str],
    sectors: Collection[str],
    countries: Collection[str],
) -> NationalTotals:
    """Read the totals of the year of the settings; lines of other years, countries and pollutants are passed over.

    Raises DataError for a faulty line, an unknown sector, and a year or pollutant that is not there.
    """
    known = sorted({*sectors, *MEMO_ITEMS, *settings.leave_out})
    found: dict[str, tuple[Key, float]] = {}
    years: set[str] = set()
    for row in read_table(path, COLUMNS):
        years.add(row.text("year"))
        if row.text("year") != str(settings.year):
            continue
        key = (row.text("iso2"), row.known("sector", known), row.text("pollutant"))
        if key[0] in countries and key[2] in pollutants:
            unique(found, " ".join(key), (key, _amount(row)), row)
    if str(settings.year) not in years:
        there = ", ".join(sorted(years)) or "none"
        raise DataError(f"{path} has no totals of {settings.year}; set emissions.year to one of: {there}")
    _require({key[2] for key, _ in found.values()}, pollutants, f"{path} of {settings.year} has no totals of")
    placed = {*sectors, *settings.leave_out}
    _require(placed, {key[1] for key, _ in found.values()}, f"{path.parent / 'sector_proxies.csv'} says no place for")
    return NationalTotals(
        {key: value for key, value in found.values() if key[1] not in settings.leave_out},
        {key: value for key, value in found.values() if key[1] in settings.leave_out},
    )


def _amount(row: Row) -> float:
    if row.text("unit") != "Gg":
        raise row.error(f"the unit is {row.text('unit')!r}; totals must be in Gg (a year)")
    return row.number("value")


def _require(present: Collection[str], wanted: Iterable[str], message: str) -> None:
    missing = sorted(set(wanted).difference(present))
    if missing:
        raise DataError(f"{message} {', '.join(missing)}; add lines for them, or leave them out of the inventory")
