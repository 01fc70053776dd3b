"""Adaptation of a species map to a mechanism, its open rates and the particles of a case."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from airshed.core.errors import CaseError, MechanismError
from airshed.core.text import shown, suggestion
from airshed.formula.tree import Binary, Expression, Number, Symbol
from airshed.mechanism.expressions import SYMBOLS
from airshed.mechanism.file_air import air_of_file, code_notes, named_as_air, own_density, unclear_air
from airshed.mechanism.kpp.meaning import read_rate
from airshed.mechanism.network import OpenParameter, ReactionNetwork
from airshed.models.air.species_map.parts import (
    DepositionMap,
    SpeciesMap,
    depositing_species,
)
from airshed.models.air.species_map.read import map_to_write

_LISTED = 100


def fit(
    species_map: SpeciesMap, network: ReactionNetwork, mechanism: str, *, compounds: Mapping[str, str],
    boundary: Sequence[str], deposition: Sequence[str],
) -> SpeciesMap:  # fmt: skip
    """Return the map with the mechanism's spelling of species, after a check that it is complete for a case.

    mechanism   name in the case, for messages;  compounds  emitted compound -> its pollutant
    boundary    species with concentrations from the profiles
    deposition  species with deposition velocities from a scheme

    Raises CaseError that lists all names that are not species, or all missing entries by section.
    """
    spelled = _spelled(species_map, network)
    rates = {name.casefold() for name in spelled.rates}
    lacks = {
        "emissions": [f"{name} (of {of})" for name, of in compounds.items() if name not in spelled.emissions],
        "boundary": [name for name in boundary if name not in spelled.boundary],
        "deposition": [name for name in deposition if name not in spelled.deposition],
        "rates": [
            f"{each.name} [{each.unit}]" if each.unit else each.name
            for each in network.open_parameters
            if each.name.casefold() not in rates
        ],
    }
    whole = {"boundary": boundary, "deposition": deposition, "rates": network.open_parameters}
    lines = ""
    for section, names in lacks.items():
        if names:
            every = _LISTED < len(names) == len(whole.get(section, ()))
            lines += f"\n  [{section}] " + (f"all {len(names)}" if every else ", ".join(names))
    if lines:
        what = f"{species_map.source} lacks" if species_map.source else "there is no species map, and the case needs"
        raise CaseError(
            f"mechanism {network.name}: {what}{lines}\n"
            f"add them to {map_to_write(species_map, mechanism)}; airshed mechanism map {mechanism} prints a template"
        )
    return spelled


def without_air(network: ReactionNetwork, species_map: SpeciesMap) -> ReactionNetwork:
    """Return the network with the gases that the map declares as air fixed, with the concentrations of the cell.

    Raises CaseError for a name that is not a species, or not a gas of the air in the model.
    """
    air = {name.casefold() for name in species_map.air}
    for name in species_map.air:
        known = [each.name for each in network.species + network.fixed if each.name.upper() in SYMBOLS]
        if name.casefold() not in {each.casefold() for each in known}:
            raise CaseError(
                f"{species_map.source}: air: {name!r} is not a species of {network.name} and a gas of the model's "
                f"air; {suggestion(name, known)}"
            )
    return replace(
        network,
        species=tuple(each for each in network.species if each.name.casefold() not in air),
        fixed=network.fixed
        + tuple(replace(each, fixed=True) for each in network.species if each.name.casefold() in air),
    )


def _spelled(given: SpeciesMap, network: ReactionNetwork) -> SpeciesMap:
    """Return the map in the mechanism's spelling; raises CaseError that lists all names that are not species."""
    known = {name.casefold(): name for name in network.names}
    fixed = {species.name.casefold() for species in network.fixed}
    unknown: dict[str, str] = {}

    def spell(section: str, name: str) -> str:
        own = known.get(name.casefold())
        if own is None:
            why = f"is not a species; {suggestion(name, known.values())}"
            why = "is fixed and needs no entry" if name.casefold() in fixed else why
            unknown.setdefault(name, f"{shown(name)} under [{section}] {why}")
        return own or name

    spelled = given.renamed(spell)
    if unknown:
        raise CaseError(f"{given.source} does not fit mechanism {network.name}: {'; '.join(unknown.values())}")
    return spelled


def bind_rates(network: ReactionNetwork, rates: Mapping[str, str | float], source: str) -> ReactionNetwork:
    """Return the network with open parameters replaced by the map's formulas, then by the mechanism's defaults.

    rates   formulas in the language of reaction files, which may refer to each other
    source  file of the map, for messages

    Raises CaseError for an invalid formula, an undefined name, and a name that no rate needs.
    """
    formulas = {name.casefold(): _formula(value, f"{source}: rates.{name}") for name, value in rates.items()}
    bound, used = network, set[str]()
    for _ in range(len(formulas)):  # one pass for each level of nested references
        wanted = {each.name: formulas[each.name.casefold()] for each in bound.parameters
                  if each.name.casefold() in formulas}  # fmt: skip
        if not wanted:
            break
        bound, used = bound.bind(wanted), used | {name.casefold() for name in wanted}
    for name in rates:
        if name.casefold() not in used:
            known = [each.name for each in network.parameters]
            raise CaseError(f"{source}: no rate of {network.name} needs rates.{name}; {suggestion(name, known)}")
    bound = _with_fixed(bound, source).with_defaults()
    if bound.open_parameters:
        names = ", ".join(each.name for each in bound.open_parameters)
        raise CaseError(f"{source}: rates refer to {names}, which are undefined or refer to each other in a circle")
    return bound


def air_notes(network: ReactionNetwork) -> list[str]:
    """Return notes on air in the mechanism's file that rates replace by the air of cells; before rates are bound."""
    air = air_of_file(network)
    notes = []
    if air:
        given = ", ".join(f"{name} ({density:.4g} molecules/cm3)" for name, density in air.items())
        notes.append(f"{given} of the file is not used: rates use the air of each cell")
    notes += [f"{name} in the rates is the concentration in air, not the species" for name in named_as_air(network)]
    notes += code_notes(network)
    mixed = [each.name for each in _in_air(network)]
    if mixed:
        notes.append(f"fixed species {', '.join(mixed)}: the file's concentration is a mixing ratio in its own air")
    return notes


def _with_fixed(network: ReactionNetwork, source: str) -> ReactionNetwork:
    """Return the network with fixed species at the mixing ratio that they have in the air of the file.

    Raises CaseError for a species AIR whose value is not a density of air.
    """
    for each in unclear_air(network):
        raise CaseError(
            f"{each.name} = {each.default:g} of mechanism {network.name} is not a density of air [molecules/cm3]; "
            f'write {each.name} = "M" under [rates] of {source or "its species map"}, if it is the air'
        )
    density = own_density(network)
    if density is None:
        return network
    return network.bind(
        {each.name: Binary("*", Number((each.default or 0.0) / density), Symbol("M")) for each in _in_air(network)}
    )


def _in_air(network: ReactionNetwork) -> list[OpenParameter]:
    """Return the fixed species with a value, if the file also gives the density of its air."""
    fixed = {species.name for species in network.fixed}
    if own_density(network) is None:
        return []
    return [each for each in network.parameters if each.name in fixed and each.default is not None]


def _formula(value: str | float, where: str) -> Expression:
    if isinstance(value, float):
        return Number(value)
    try:
        return read_rate(value)
    except MechanismError as error:
        raise CaseError(f"{where} = {value!r} is not a rate: {error}") from None


FINE: Final = 2.5e-6  # maximum diameter [m] of fine particles, as for PM2.5
AS_FINE: Final = "SA"  # substance of the deposition tables that represents fine particles


@dataclass(frozen=True)
class Phase:
    """Phase of a species, with diameter [m] and density [kg/m3] of particles of declared size."""

    name: Literal["gas", "particle"] = "gas"
    diameter: float | None = None
    density: float | None = None

    @property
    def size(self) -> tuple[float, float] | None:
        """Diameter and density, None if they are not declared."""
        return None if self.diameter is None or self.density is None else (self.diameter, self.density)


def with_particles(
    deposition: DepositionMap, particles: Any, own: Collection[str] = ()
) -> DepositionMap:  # fmt: skip
    """Return the surrogates of deposition, with the particles of a case; raises CaseError if one maps to a gas.

    particles  the section `[particles]`;  own  species of processes, which are not in the species map
    """
    surrogate, none = dict(deposition.surrogate), set(deposition.none)
    for name, diameter in particles.diameters.items():
        substance = surrogate.get(name)
        if substance is not None and not _is_particle(substance):
            raise CaseError(
                f"particles.diameters: {name} is a particle, but deposits as the gas {substance} in the species map; "
                f"leave it out, or map it to a particle such as {AS_FINE}"
            )
        if substance is None and (name not in none or name in own):
            none.discard(name)
            if diameter.value <= FINE:
                surrogate[name] = AS_FINE
            else:
                none.add(name)
    return replace(deposition, surrogate=surrogate, none=frozenset(none))


def phases(species: Iterable[str], particles: Any, deposition: DepositionMap) -> Mapping[str, Phase]:
    """Return the phase of each species: particles are declared, or deposit as a particle."""
    found: dict[str, Phase] = {}
    for name in species:
        diameter, density = particles.diameters.get(name), particles.densities.get(name)
        if diameter is not None:
            found[name] = Phase("particle", diameter.value, 1000.0 if density is None else density.value)
        else:
            substance = deposition.surrogate.get(name)
            found[name] = Phase("particle" if substance is not None and _is_particle(substance) else "gas")
    return found


def _is_particle(substance: str) -> bool:
    return depositing_species()[substance.casefold()].particle
