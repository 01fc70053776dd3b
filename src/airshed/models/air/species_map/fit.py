"""Fits a species map to a mechanism and to what a case needs: one error lists all that is missing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from airshed.core.errors import CaseError
from airshed.core.text import shown, suggestion
from airshed.mechanism.expressions import SYMBOLS
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.species_map.find import map_to_write
from airshed.models.air.species_map.parts import Amounts, BoundaryMap, DepositionMap, EmissionMap, SpeciesMap

_LISTED = 100


@dataclass(frozen=True)
class Needs:
    """What a case wants to know of the map.

    compounds   compound that is emitted -> what it is part of
    boundary    species whose clean air comes from the profiles
    deposition  species whose deposition follows a scheme
    """

    compounds: Mapping[str, str] = field(default_factory=dict)
    boundary: Sequence[str] = ()
    deposition: Sequence[str] = ()


def fit(species_map: SpeciesMap, network: ReactionNetwork, needs: Needs, mechanism: str) -> SpeciesMap:
    """Return the map with the mechanism's spelling of its species, checked against what the case needs.

    mechanism  as the case names it, for messages

    Raises CaseError for all names that are no species, and for all that is missing, section by section.
    """
    spelled = _Spelling(species_map, network).apply()
    missing = _missing(spelled, network, needs)
    if missing:
        what = f"{species_map.source} lacks" if species_map.source else "there is no species map, and the case needs"
        lines = "".join(f"\n  [{section}] {entries}" for section, entries in missing.items())
        raise CaseError(
            f"mechanism {network.name}: {what}{lines}\n"
            f"write them to {map_to_write(species_map, mechanism)}; airshed mechanism map {mechanism} prints a template"
        )
    return spelled


def _missing(species_map: SpeciesMap, network: ReactionNetwork, needs: Needs) -> dict[str, str]:
    """Return section -> what it lacks."""
    known = {name.casefold() for name in species_map.rates}
    of = needs.compounds
    lacks = {
        "emissions": [f"{name} (of {of[name]})" for name in of if name not in species_map.emissions],
        "boundary": [name for name in needs.boundary if name not in species_map.boundary],
        "deposition": [name for name in needs.deposition if name not in species_map.deposition],
        "rates": [
            f"{each.name} [{each.unit}]" if each.unit else each.name
            for each in network.open_parameters
            if each.name.casefold() not in known
        ],
    }
    whole = {"boundary": needs.boundary, "deposition": needs.deposition, "rates": network.open_parameters}
    return {
        section: f"all {len(names)}" if _LISTED < len(names) == len(whole.get(section, ())) else ", ".join(names)
        for section, names in lacks.items()
        if names
    }


def without_air(network: ReactionNetwork, species_map: SpeciesMap) -> ReactionNetwork:
    """Return the network in which the species that the map calls air are fixed: those of the cell at every time.

    Raises CaseError for one that is no species, or that the model does not know as a part of the air.
    """
    air = {name.casefold() for name in species_map.air}
    for name in species_map.air:
        known = [each.name for each in network.species + network.fixed if each.name.upper() in SYMBOLS]
        if name.casefold() not in {each.casefold() for each in known}:
            raise CaseError(
                f"{species_map.source}: air: {name!r} is no species of {network.name} that is a part of the model's "
                f"air; {suggestion(name, known)}"
            )
    return replace(
        network,
        species=tuple(each for each in network.species if each.name.casefold() not in air),
        fixed=network.fixed
        + tuple(replace(each, fixed=True) for each in network.species if each.name.casefold() in air),
    )


class _Spelling:
    """Gives names of species the mechanism's spelling, and collects those that are none."""

    def __init__(self, species_map: SpeciesMap, network: ReactionNetwork) -> None:
        self._map, self._network = species_map, network
        self._known = {name.casefold(): name for name in network.names}
        self._fixed = {species.name.casefold() for species in network.fixed}
        self._unknown: dict[str, tuple[str, str]] = {}

    def apply(self) -> SpeciesMap:
        """Return the map in the mechanism's spelling; raises CaseError that lists all that is no species of it."""
        given = self._map
        spelled = replace(
            given,
            emissions=self._emissions(given.emissions),
            boundary=self._boundary(given.boundary),
            deposition=self._deposition(given.deposition),
            names={name: self._one("names", species) for name, species in given.names.items()},
        )
        if self._unknown:
            raise CaseError(
                f"{given.source} does not fit mechanism {self._network.name}: "
                + "; ".join(f"{shown(name)} under [{section}] {why}" for name, (section, why) in self._unknown.items())
            )
        return spelled

    def _one(self, section: str, name: str) -> str:
        known = self._known.get(name.casefold())
        if known is None and name:
            fixed = name.casefold() in self._fixed
            why = (
                "is fixed, and needs no entry" if fixed else f"is no species; {suggestion(name, self._known.values())}"
            )
            self._unknown.setdefault(name, (section, why))
        return known or name

    def _names(self, section: str, names: Iterable[str]) -> frozenset[str]:
        return frozenset(self._one(section, name) for name in sorted(names))  # messages keep one order

    def _emissions(self, given: EmissionMap) -> EmissionMap:
        becomes: dict[str, Amounts] = {}
        for compound, amounts in given.becomes.items():
            becomes[compound] = {self._one("emissions", name): factor for name, factor in amounts.items()}
        carbon = {self._one("carbon", name): atoms for name, atoms in given.carbon.items()}
        return replace(given, becomes=becomes, carbon=carbon)

    def _boundary(self, given: BoundaryMap) -> BoundaryMap:
        return replace(
            given,
            zero=self._names("boundary", given.zero),
            uniform={self._one("boundary", name): value for name, value in given.uniform.items()},
            profile={self._one("boundary", name): parts for name, parts in given.profile.items()},
        )

    def _deposition(self, given: DepositionMap) -> DepositionMap:
        surrogate = {self._one("deposition", name): substance for name, substance in given.surrogate.items()}
        return replace(given, surrogate=surrogate, none=self._names("deposition", given.none))
