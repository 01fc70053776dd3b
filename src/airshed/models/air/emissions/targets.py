"""Targets of the fields of files: a species, a compound of the species map, or a pollutant of inventories."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from airshed.core.errors import CaseError
from airshed.models.air.emissions.names import folded, pollutants
from airshed.models.air.emissions.split import Part, Split, species_parts
from airshed.models.air.species_map.parts import Compound, EmissionMap

_ATOMS: Final = {"C": 12.011e-3, "N": 14.0067e-3, "S": 32.06e-3}  # [kg/mol]
_IN_SPLIT: Final = ("NOx", "SOx", "NMVOC")
"""Pollutants that are mixtures of compounds, in proportions of the inventory or the species map."""


@dataclass(frozen=True)
class Target:
    """Result of a field, stored in moles, or for a pollutant in kilograms as inventories report it.

    name    species, compound or pollutant
    parts   species, and moles of it per mole or kilogram stored
    mass    kilograms per mole in reports; 0 if unknown or for a mixture
    in_kg   whether it is stored in kilograms
    carbon  atoms of carbon in a molecule; of a mixture, kilograms of carbon per kilogram
    """

    name: str
    parts: tuple[tuple[str, float], ...]
    mass: float = 0.0
    in_kg: bool = False
    carbon: float = 0.0

    def per_kilogram(self, basis: str, own_mass: float, where: str) -> float:
        """Return the stored amount of a kilogram in the file.

        basis     molecule or atom that the mass stands for: "NO2", "C"; "" for the substance itself
        own_mass  mass of a mole in the file [kg/mol], 0 if the file does not give it

        Raises CaseError if the mass of a mole is unknown, or a basis that is another molecule.
        """
        if self.in_kg and not self.mass:
            if basis == "C" and self.carbon:
                return 1.0 / self.carbon
            if basis:
                raise self._without_basis(basis, where)
            return 1.0
        per_mole = own_mass or (self._of_basis(basis) if basis not in ("", self.name) else self.mass)
        if not per_mole and basis not in ("", self.name):
            raise self._without_basis(basis, where)
        if not per_mole:
            raise CaseError(
                f"{where} is a mass: it needs the attribute molar_mass in kg/mol, such as 0.046, since the composition "
                f"of {self.name} is unknown"
            )
        return self.mass / per_mole if self.in_kg else 1.0 / per_mole

    def per_mole(self, where: str) -> float:
        """Return the stored amount of a mole; raise CaseError for a mixture, whose mass per mole is unknown."""
        if self.in_kg and not self.mass:
            raise CaseError(f"{where}: moles of the mixture {self.name} cannot be split; give a mass, or its compounds")
        return self.mass if self.in_kg else 1.0

    def _without_basis(self, basis: str, where: str) -> CaseError:
        return CaseError(
            f"{where}: a mass of {self.name} as {basis} cannot be converted; give it as mass of {self.name}"
        )

    def _of_basis(self, basis: str) -> float:
        if basis == "C":
            return self.carbon * _ATOMS["C"]
        if basis in _ATOMS:
            return _ATOMS[basis]
        known = pollutants().get(folded(basis))
        return known.mass if known else 0.0


@dataclass(frozen=True)
class Targets:
    """Known species, compounds and pollutants of a case.

    species    of the mechanism; None if any name is a species
    masses     [kg/mol] of species with known composition
    emissions  species map;  split  pollutant -> compounds
    compounds  of an inventory, which are omitted if the mechanism lacks them
    """

    species: tuple[str, ...] | None = None
    masses: Mapping[str, float | None] = field(default_factory=dict)
    emissions: EmissionMap = field(default_factory=EmissionMap)
    split: Split = field(default_factory=dict)
    compounds: Collection[str] = ()

    def of(self, name: str) -> Target | None:
        """Return the target of a name; one without parts if the mechanism has no species for it; None if unknown."""
        if self.species is None:
            return Target(name, ((name, 1.0),))
        own = next((each for each in self.species if each == name), "") or next(
            (each for each in self.species if each.casefold() == name.casefold()), ""
        )
        known = pollutants().get(folded(name))
        if own and not (known and known.name in _IN_SPLIT):
            return Target(own, ((own, 1.0),), self._mass(own), carbon=self._carbon(own))
        standard = known.name if known else name
        pollutant = next((each for each in (name, standard, *_ALIASES.get(standard, ())) if each in self.split), "")
        if pollutant in _IN_SPLIT or (pollutant and standard not in self.emissions):
            return self._pollutant(pollutant)
        if standard in self.emissions or standard in self.compounds:
            made = tuple(self.emissions.of(standard).items())
            kept = tuple((each, factor) for each, factor in made if each in self.species)
            mass = known.mass if known else self._compound_mass(standard)
            return Target(standard, kept, mass, carbon=self._carbon(standard))
        return Target(standard, ()) if known else None

    def _pollutant(self, name: str) -> Target:
        """Return a pollutant that is split to compounds; species that the mechanism lacks are a CaseError."""
        parts: dict[str, tuple[Part, ...]] = species_parts({name: self.split[name]}, self.emissions, self.species or ())
        compounds: tuple[Compound, ...] = tuple(self.split[name])
        masses = {compound.molar_mass for compound in compounds}
        carbon = [compound.carbon for compound in compounds]
        share = (
            sum(each.share * (each.carbon or 0.0) * _ATOMS["C"] / each.molar_mass for each in compounds)
            if all(each is not None for each in carbon)
            else 0.0
        )
        found = tuple((part.species, part.moles) for part in parts.get(name, ()))
        return Target(name, found, masses.pop() if len(masses) == 1 else 0.0, in_kg=True, carbon=share)

    def _mass(self, species: str) -> float:
        known = pollutants().get(folded(species))
        return float(self.masses.get(species) or (known.mass if known else 0.0))

    def _carbon(self, name: str) -> float:
        """Return the atoms of carbon in a molecule of a species or compound; 0 if they are unknown."""
        known = pollutants().get(folded(name))
        told = (known.carbon if known else 0.0) or self.emissions.carbon.get(name, 0.0)
        return told or next((each.carbon or 0.0 for of in self.split.values() for each in of if each.name == name), 0.0)

    def _compound_mass(self, name: str) -> float:
        return next((each.molar_mass for of in self.split.values() for each in of if each.name == name), 0.0)


_ALIASES: Final = {"SO2": ("SOx",), "NO2": ()}
"""Pollutants of the inventory that a substance counts as, where the mechanism does not have the substance."""
