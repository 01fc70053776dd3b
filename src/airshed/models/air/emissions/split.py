"""Speciation: conversion of reported pollutants [kg] to the species of a mechanism [mol].

A pollutant is split into compounds by mass (table of the inventory, or species map). The species map converts a mole
of each compound to moles of species:

    moles of k = reported mass  x  sum over compounds c of  share[c] / molar mass[c] x factor[c, k]
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from airshed.core.errors import CaseError, DataError
from airshed.io.tables import read_table
from airshed.mechanism.network import ReactionNetwork, Species
from airshed.models.air.species_map.families import substances
from airshed.models.air.species_map.parts import ISOPRENE, Compound, EmissionMap

COLUMNS = ("pollutant", "species", "mass_share", "molar_mass_g_mol")
Split = Mapping[str, tuple[Compound, ...]]  # pollutant -> its compounds


@dataclass(frozen=True)
class Part:
    """Part of a pollutant that is converted to one species.

    share  fraction of the reported mass [kg/kg]; several species of a compound have fractions by their moles
    moles  amount of the species per reported mass of the pollutant [mol/kg]
    """

    species: str
    share: float
    moles: float


def read_split(path: Path) -> Split:
    """Return the compounds of each pollutant in an inventory's table.

    The column ``carbon``, carbon atoms in a molecule, is optional. Raises DataError for an invalid file.
    """
    found: dict[str, list[Compound]] = {}
    for row in read_table(path, COLUMNS):
        share, grams = row.number("mass_share", most=1.0), row.number("molar_mass_g_mol", least=1.0, most=1e4)
        carbon = row.number("carbon", most=1e3) if row.has("carbon") else None
        compound = Compound(row.name("species"), share, 1e-3 * grams, carbon)
        found.setdefault(row.name("pollutant"), []).append(compound)
    return {pollutant: tuple(compounds) for pollutant, compounds in found.items()}


def split_of(path: Path, pollutants: Iterable[str], emissions: EmissionMap) -> dict[str, tuple[Compound, ...]]:
    """Return the compounds of each pollutant, from the species map or else from the table of the inventory.

    Raises CaseError for a pollutant in neither of them, DataError for fractions that do not sum to one.
    """
    wanted = tuple(pollutants)
    table = {} if all(name in emissions.split for name in wanted) else read_split(path)
    split = {**table, **emissions.split}
    unknown = [name for name in wanted if name not in split]
    if unknown:
        raise CaseError(
            f"{path} does not give the compounds of {', '.join(unknown)}; add lines for it, "
            "or [split] in the species map"
        )
    for name in wanted:
        total = sum(compound.share for compound in split[name])
        if abs(total - 1.0) > 1e-6:
            where = "the species map" if name in emissions.split else path
            raise DataError(f"{where}: the mass shares of {name} sum to {total:g}, but must sum to 1")
    return {name: split[name] for name in wanted}


def species_parts(split: Split, emissions: EmissionMap, species: Iterable[str]) -> dict[str, tuple[Part, ...]]:
    """Return the parts of each pollutant as species of the mechanism, without pollutants that the map omits.

    Raises CaseError that lists compounds without an entry in the map, or species that the mechanism lacks.
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


_ISOPRENE_MASS: Final = 0.06812  # molar mass [kg/mol]
_ISOPRENE_CARBON: Final = 5.0

Content = Mapping[str, float | None]
"""Species -> content of a mole: mass [kg] or carbon [mol]; None if unknown."""


def kept_notes(split: Split, emissions: EmissionMap, network: ReactionNetwork) -> list[str]:
    """Return a line for each pollutant with carbon or nitrogen, or with omitted compounds: the conserved fraction.

    fraction = sum over compounds c and species k of n[c] factor[c, k] h[k]  /  sum over c of n[c] h[c]

    with n the moles of a compound in the pollutant, h the mass, the carbon or the nitrogen in a mole.
    """
    masses = {species.name: species.molar_mass for species in network.species}
    carbon = {species.name: _carbon(species, emissions) for species in network.species}
    nitrogen = {species.name: _nitrogen(species) for species in network.species}
    notes = []
    for pollutant, compounds in split.items():
        dropped = [compound.name for compound in compounds if not emissions.of(compound.name)]
        if len(dropped) == len(compounds):
            notes.append(f"{pollutant}: left out, by the species map")
        elif all(compound.carbon for compound in compounds):
            of_mass = _kept(compounds, emissions, masses, lambda compound: compound.molar_mass)
            of_carbon = _kept(compounds, emissions, carbon, lambda compound: compound.carbon or 0.0)
            notes.append(f"{pollutant} in species of {network.name}: its mass {of_mass}, its carbon {of_carbon}")
        elif all(_nitrogen_of(compound.name) for compound in compounds):
            of_nitrogen = _kept(compounds, emissions, nitrogen, lambda compound: _nitrogen_of(compound.name))
            notes.append(f"{pollutant} in species of {network.name}: its nitrogen {of_nitrogen}")
        if 0 < len(dropped) < len(compounds):
            notes.append(f"{pollutant}: without {', '.join(dropped)}, by the species map")
    return notes


def isoprene_notes(emissions: EmissionMap, network: ReactionNetwork, compounds: Iterable[str]) -> list[str]:
    """Return the conserved fraction of carbon of isoprene from vegetation, if it is emitted."""
    if ISOPRENE not in compounds:
        return []
    becomes = emissions.of(ISOPRENE)
    if not becomes:
        return ["isoprene of vegetation: left out, by the species map"]
    carbon = {species.name: _carbon(species, emissions) for species in network.species}
    isoprene = Compound(ISOPRENE, 1.0, _ISOPRENE_MASS, _ISOPRENE_CARBON)
    kept = _kept([isoprene], emissions, carbon, lambda compound: compound.carbon or 0.0)
    return [f"isoprene of vegetation as {', '.join(becomes)}: its carbon {kept}"]


def _kept(
    compounds: Iterable[Compound], emissions: EmissionMap, content: Content, held: Callable[[Compound], float]
) -> str:
    """Return the conserved fraction in per cent, as text, or the unknown quantity."""
    left, total = 0.0, 0.0
    for compound in compounds:
        moles = compound.share / compound.molar_mass
        total += moles * held(compound)
        for name, factor in emissions.of(compound.name).items():
            amount = content[name]
            if amount is None:
                return f"unknown (no data for {name})"
            left += moles * factor * amount
    return f"{100.0 * left / total:.1f} % conserved"


def _nitrogen_of(compound: str) -> float:
    """Return the nitrogen atoms in a molecule of an emitted compound; 0 for other compounds."""
    substance = substances().get(compound)
    return float(substance.nitrogen) if substance is not None else 0.0


def _nitrogen(species: Species) -> float | None:
    """Return the nitrogen atoms in a molecule, from its composition or else from an unambiguous name."""
    substance = substances().get(species.name.upper())
    return species.atoms.get("N", 0.0) if species.atoms else float(substance.nitrogen) if substance else None


def _carbon(species: Species, emissions: EmissionMap) -> float | None:
    """Return the carbon atoms in a molecule, from the map or else from its composition."""
    told = emissions.carbon.get(species.name)
    return told if told is not None else species.atoms.get("C", 0.0) if species.atoms else None
