"""How much of the emitted mass and carbon is still there in the species of a mechanism."""

from collections.abc import Callable, Iterable, Mapping

from airshed.air.emissions.split import Split
from airshed.air.species_map.parts import Compound, EmissionMap
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.reaction import Species

Content = Mapping[str, float | None]
"""Species -> what a mole of it holds: mass [kg] or carbon [mol]; None where that is not known."""


def kept_notes(split: Split, emissions: EmissionMap, network: ReactionNetwork) -> list[str]:
    """Return a line for each pollutant that holds carbon or loses a compound: what is left of it in species.

    kept = sum over compounds c and species k of n[c] factor[c, k] h[k]  /  sum over c of n[c] h[c]

    with n the moles of a compound in the pollutant, h the mass or the carbon in a mole.
    """
    masses = {species.name: species.molar_mass for species in network.species}
    carbon = {species.name: _carbon(species, emissions) for species in network.species}
    notes = []
    for pollutant, compounds in split.items():
        dropped = [compound.name for compound in compounds if not emissions.of(compound.name)]
        if len(dropped) == len(compounds):
            notes.append(f"{pollutant}: left out, by the species map")
        elif all(compound.carbon for compound in compounds):
            of_mass = _kept(compounds, emissions, masses, lambda compound: compound.molar_mass)
            of_carbon = _kept(compounds, emissions, carbon, lambda compound: compound.carbon or 0.0)
            notes.append(f"{pollutant} in species of {network.name}: its mass {of_mass}, its carbon {of_carbon}")
        if 0 < len(dropped) < len(compounds):
            notes.append(f"{pollutant}: without {', '.join(dropped)}, by the species map")
    return notes


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


def _carbon(species: Species, emissions: EmissionMap) -> float | None:
    """Atoms of carbon in a molecule: as the map says, else by its composition."""
    told = emissions.carbon.get(species.name)
    return told if told is not None else species.atoms.get("C", 0.0) if species.atoms else None
