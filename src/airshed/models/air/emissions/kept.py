"""How much of the emitted mass, carbon and nitrogen is still there in the species of a mechanism."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from airshed.mechanism.network import ReactionNetwork, Species
from airshed.models.air.emissions.split import Split
from airshed.models.air.species_map.families import substances
from airshed.models.air.species_map.parts import ISOPRENE, Compound, EmissionMap

_ISOPRENE_MASS: Final = 0.06812
"""Molar mass [kg/mol]."""
_ISOPRENE_CARBON: Final = 5.0

Content = Mapping[str, float | None]
"""Species -> what a mole of it holds: mass [kg] or carbon [mol]; None where that is not known."""


def kept_notes(split: Split, emissions: EmissionMap, network: ReactionNetwork) -> list[str]:
    """Return a line for each pollutant that holds carbon or nitrogen or loses a compound: what is left in species.

    kept = sum over compounds c and species k of n[c] factor[c, k] h[k]  /  sum over c of n[c] h[c]

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
    """Return what is left of the carbon of isoprene from vegetation, where it is emitted."""
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
    """Return what is kept, in per cent, or what is not known."""
    left, total = 0.0, 0.0
    for compound in compounds:
        moles = compound.share / compound.molar_mass
        total += moles * held(compound)
        for name, factor in emissions.of(compound.name).items():
            amount = content[name]
            if amount is None:
                return f"unknown (that of {name} is not told)"
            left += moles * factor * amount
    return f"{100.0 * left / total:.1f} % kept"


def _nitrogen_of(compound: str) -> float:
    """Atoms of nitrogen in a molecule of an emitted compound; 0 for one that is no substance with nitrogen."""
    substance = substances().get(compound)
    return float(substance.nitrogen) if substance is not None else 0.0


def _nitrogen(species: Species) -> float | None:
    """Atoms of nitrogen in a molecule: by its composition, else by a name that means the same everywhere."""
    substance = substances().get(species.name.upper())
    return species.atoms.get("N", 0.0) if species.atoms else float(substance.nitrogen) if substance else None


def _carbon(species: Species, emissions: EmissionMap) -> float | None:
    """Atoms of carbon in a molecule: as the map says, else by its composition."""
    told = emissions.carbon.get(species.name)
    return told if told is not None else species.atoms.get("C", 0.0) if species.atoms else None
