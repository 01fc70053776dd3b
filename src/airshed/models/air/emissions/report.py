"""Tables of the emission in a run by species and sector, and by country."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.report import Cell, Table
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.emissions.biogenic import BiogenicEmissions
from airshed.models.air.emissions.gridded import GriddedEmissions
from airshed.models.air.emissions.inventory import Inventory, SectorAmount
from airshed.models.air.emissions.sources import HOUR, MappedEmissions, hour_of
from airshed.models.air.emissions.stacks import StackEmissions
from airshed.process.context import Source

_WITH_TOTALS: Final = (BiogenicEmissions, StackEmissions)

_GROUPS: Final = {
    "power": "A", "industry": "BDE", "homes": "C", "road": "F", "other traffic": "GHI", "waste, other": "JM",
    "farming": "KL",
}  # fmt: skip
"""Groups of GNFR sectors, by their first letters, for narrow tables."""


def emission_rows(
    sources: Sequence[Source], network: ReactionNetwork, first: float, last: float, start: np.datetime64
) -> list[SectorAmount]:
    """Return the emission of each species by sector between two times [s since the start]."""
    rows: list[SectorAmount] = []
    for source in sources if last > first else ():
        if isinstance(source, Inventory) and first == 0.0:
            rows += source.summary(last)
        else:
            rows += _amounts(source, network, first, last, start)
    return _added_up(rows)


def _added_up(rows: Sequence[SectorAmount]) -> list[SectorAmount]:
    """Return the rows with those of the same species and sector, from several files, added up."""
    found: dict[tuple[str, str], SectorAmount] = {}
    for row in rows:
        first = found.get(row[:2])
        mass, moles = (row.kilograms_per_day, row.moles) if first is None else (
            row.kilograms_per_day + first.kilograms_per_day, row.moles + first.moles
        )  # fmt: skip
        found[row[:2]] = SectorAmount(row.species, row.sector, mass, moles)
    return list(found.values())


def sector_table(rows: Sequence[SectorAmount]) -> Table:
    """Return a table with a row for each species and sector."""
    cells = [(row.species, row.sector, row.moles, row.kilograms_per_day) for row in rows]
    note = "mass as inventories report it: NO as NO2, SA as SO2"
    return Table("Emission", ("species", "sector", "amount [mol]", "mass [kg/day]"), cells, note)


def sector_matrix(rows: Sequence[SectorAmount]) -> Table:
    """Return a table of mass by species and group of sectors [kg/day], for species of known composition."""
    rows = [row for row in rows if np.isfinite(row.kilograms_per_day)]
    groups = list(dict.fromkeys(_group(row.sector) for row in rows))
    groups.sort(key=lambda name: [*_GROUPS, name].index(name))
    mass = {(row.species, group): 0.0 for row in rows for group in groups}
    for row in rows:
        mass[row.species, _group(row.sector)] += row.kilograms_per_day
    cells: list[tuple[Cell, ...]] = []
    for species in dict.fromkeys(row.species for row in rows):
        parts = [mass[species, group] for group in groups]
        cells.append((species, *(_rounded(part) for part in parts), _rounded(sum(parts))))
    note = "mass as inventories report it: NO as NO2, SA as SO2"
    return Table("Emission by species and sector [kg/day]", ("species", *groups, "all"), cells, note)


def country_table(sources: Sequence[Source]) -> Table:
    """Return a table of the totals of each country, from the report to the area of the case."""
    columns = (
        "country", "pollutant", "reported [Gg/a]", "left out [Gg/a]", "distributed [Gg/a]", "in the area [Gg/a]",
    )  # fmt: skip
    inventories = (source for source in sources if isinstance(source, Inventory))
    return Table("National totals", columns, [total for each in inventories for total in each.country_totals()])


def file_table(sources: Sequence[Source], first: float, last: float) -> Table:
    """Return a table of gridded files: emission of the whole file, in the area, and emitted between two times."""
    columns = (
        "file", "layout", "emits", "sector", "in the file [kg/day]", "in the area [kg/day]", "emitted [kg/day]",
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for source in sources if last > first else ():
        if isinstance(source, GriddedEmissions):
            for total, emitted in zip(source.totals, source.emitted(first, last), strict=True):
                name = total.name if total.unit == "kg" else f"{total.name} [{total.unit}]"
                rows.append((total.file, total.layout, name, total.sector, total.whole, total.inside, emitted))
    note = "in the file and in the area: mean of the fields that the run uses, without factors and profiles"
    return Table("Gridded emission files", columns, rows, note)


def emission_notes(sources: Sequence[Source]) -> list[str]:
    """Return the notes of all sources for a report."""
    return [note for source in sources if isinstance(source, MappedEmissions) for note in source.notes()]


def emission_notices(sources: Sequence[Source]) -> list[str]:
    """Return the notices of all sources before a run."""
    mapped = (source for source in sources if isinstance(source, MappedEmissions))
    return [f"emission: {notice}" for source in mapped for notice in source.notices()]


def _amounts(
    source: Source, network: ReactionNetwork, first: float, last: float, start: np.datetime64
) -> list[SectorAmount]:
    """Return amounts of a source between two times: the integral of its piecewise constant rate."""
    moles = np.zeros(len(source.species))
    hours = np.arange(hour_of(first, start) + HOUR, last, HOUR).tolist()
    inside = [time for time in {*hours, *source.changes} if first < time < last]
    for begin, end in pairwise([first, *sorted(inside), last]):
        stored = source.totals(begin) if isinstance(source, _WITH_TOTALS) else None  # past weather is discarded
        moles += (end - begin) * (source.rate(begin).sum(axis=(1, 2, 3)) if stored is None else stored)
    sector = getattr(source, "sector", "") or getattr(source, "kind", "processes of the case")
    days = (last - first) / SECONDS_PER_DAY
    reported = source.reported_masses() if isinstance(source, GriddedEmissions) else {}
    masses = [
        reported.get(name) or network.species[network.index(name)].molar_mass or np.nan for name in source.species
    ]
    return [
        SectorAmount(name, sector, float(amount) * mass / days, float(amount))
        for name, amount, mass in zip(source.species, moles, masses, strict=True)
    ]


def _group(sector: str) -> str:
    """Return the group of a GNFR sector such as A_PublicPower; any other name is its own group."""
    letter, mark, _ = sector.partition("_")
    return next((name for name, letters in _GROUPS.items() if mark and letter in letters), sector)


def _rounded(value: float) -> float | int:
    """Return a number rounded to three digits, without an exponent."""
    short = float(f"{value:.3g}")
    return round(short) if abs(short) >= 100.0 else short
