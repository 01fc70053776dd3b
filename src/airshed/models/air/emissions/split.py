"""From reported pollutants [kg] to the species of a mechanism [mol].

A pollutant is split into compounds by mass (the inventory's table, or the species map), and a mole of each compound
becomes so many moles of species (the species map):

    moles of k = reported mass  x  sum over compounds c of  share[c] / molar mass[c] x factor[c, k]
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from airshed.core.errors import CaseError, DataError
from airshed.io.tables import Row, read_table
from airshed.models.air.species_map.parts import Compound, EmissionMap

COLUMNS = ("pollutant", "species", "mass_share", "molar_mass_g_mol")

Split = Mapping[str, tuple[Compound, ...]]
"""Pollutant -> its compounds."""


@dataclass(frozen=True)
class Part:
    """The part of a pollutant's reported mass that becomes one species.

    share  of the mass as reported [kg/kg]; where a compound becomes several species, each has a share by its moles
    moles  amount of the species per reported mass of the pollutant [mol/kg]
    """

    species: str
    share: float
    moles: float


def read_split(path: Path) -> Split:
    """Return the compounds of each pollutant in an inventory's table.

    The column ``carbon``, atoms of carbon in a molecule, may be left out. Raises DataError for a faulty file.
    """
    found: dict[str, list[Compound]] = {}
    for row in read_table(path, COLUMNS):
        share, grams = row.number("mass_share", most=1.0), row.number("molar_mass_g_mol", least=1.0, most=1e4)
        compound = Compound(row.name("species"), share, 1e-3 * grams, _carbon(row))
        found.setdefault(row.name("pollutant"), []).append(compound)
    return {pollutant: tuple(compounds) for pollutant, compounds in found.items()}


def split_of(path: Path, pollutants: Iterable[str], emissions: EmissionMap) -> dict[str, tuple[Compound, ...]]:
    """Return the compounds of each pollutant: as the species map splits it, else as the inventory's table does.

    Raises CaseError for a pollutant that neither splits, DataError for shares that do not sum to one.
    """
    wanted = tuple(pollutants)
    table = {} if all(name in emissions.split for name in wanted) else read_split(path)
    split = {**table, **emissions.split}
    unknown = [name for name in wanted if name not in split]
    if unknown:
        raise CaseError(
            f"{path} does not say what {', '.join(unknown)} consists of; add lines for it, "
            "or [split] in the species map"
        )
    for name in wanted:
        total = sum(compound.share for compound in split[name])
        if abs(total - 1.0) > 1e-6:
            where = "the species map" if name in emissions.split else path
            raise DataError(f"{where}: the mass shares of {name} sum to {total:g}, but must sum to 1")
    return {name: split[name] for name in wanted}


def species_parts(split: Split, emissions: EmissionMap, species: Iterable[str]) -> dict[str, tuple[Part, ...]]:
    """Return the parts of each pollutant as species of the mechanism; a pollutant that becomes nothing is left out.

    Raises CaseError that lists what is missing: a compound that the map does not name, or a species that the mechanism
    lacks.
    """
    known = frozenset(species)
    unmapped = [f"{each.name} (of {p})" for p, compounds in split.items() for each in compounds
                if each.name not in emissions]  # fmt: skip
    if unmapped:
        raise CaseError(
            f"no species for the emitted {', '.join(unmapped)}; name them under [emissions] of a species map"
        )
    parts = {pollutant: _parts(compounds, emissions) for pollutant, compounds in split.items()}
    lacking = [part.species for of in parts.values() for part in of if part.species not in known]
    if lacking:
        raise CaseError(f"the mechanism lacks the emitted species {', '.join(dict.fromkeys(lacking))}")
    return {pollutant: found for pollutant, found in parts.items() if found}


def _parts(compounds: Iterable[Compound], emissions: EmissionMap) -> tuple[Part, ...]:
    found = []
    for compound in compounds:
        becomes = emissions.of(compound.name)
        made = sum(becomes.values())
        for name, factor in becomes.items():
            share = compound.share * (factor / made) if made else 0.0
            found.append(Part(name, share, factor * (compound.share / compound.molar_mass)))
    return tuple(found)


def _carbon(row: Row) -> float | None:
    return row.number("carbon", most=1e3) if row.has("carbon") else None
