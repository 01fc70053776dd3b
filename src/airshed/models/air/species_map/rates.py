"""The rates that a species map gives for what a mechanism leaves open."""

from collections.abc import Mapping

from airshed.core.errors import CaseError, MechanismError
from airshed.core.text import suggestion
from airshed.formula.tree import Binary, Expression, Number, Symbol
from airshed.mechanism.file_air import air_of_file, code_notes, named_as_air, own_density, unclear_air
from airshed.mechanism.kpp.meaning import read_rate
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.reaction import OpenParameter


def bind_rates(network: ReactionNetwork, rates: Mapping[str, str | float], source: str) -> ReactionNetwork:
    """Return the network with the map's formulas, then the mechanism's defaults, in the place of what it leaves open.

    rates   formulas in the language of reaction files, which may name each other
    source  the file of the map, for messages

    Raises CaseError for a text that is no formula, a name that nothing explains and one that no rate needs.
    """
    formulas = {name.casefold(): _formula(value, f"{source}: rates.{name}") for name, value in rates.items()}
    bound, used = network, set[str]()
    for _ in range(len(formulas)):  # one pass for each level at which formulas name others
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
        raise CaseError(f"{source}: rates name {names}, which nothing explains, or which name each other in a circle")
    return bound


def air_notes(network: ReactionNetwork) -> list[str]:
    """Return what the file gives of the air, and what the rates take instead; before rates are bound."""
    air = air_of_file(network)
    notes = []
    if air:
        told = ", ".join(f"{name} ({density:.4g} molecules/cm3)" for name, density in air.items())
        notes.append(f"the file's own {told}: rates take the air of each cell instead")
    notes += [f"{name} in the rates is that of the air, not the species {name}" for name in named_as_air(network)]
    notes += code_notes(network)
    mixed = [each.name for each in _in_air(network)]
    if mixed:
        notes.append(f"fixed species {', '.join(mixed)}: the file's concentration is a mixing ratio in its own air")
    return notes


def _with_fixed(network: ReactionNetwork, source: str) -> ReactionNetwork:
    """Return the network in which fixed species keep the mixing ratio that they have in the air of the file.

    Raises CaseError for one called AIR that is no density of air.
    """
    for each in unclear_air(network):
        raise CaseError(
            f"{each.name} = {each.default:g} of mechanism {network.name} is no density of air [molecules/cm3]; write "
            f'{each.name} = "M" under [rates] of {source or "its species map"}, if it is the air'
        )
    density = own_density(network)
    if density is None:
        return network
    return network.bind(
        {each.name: Binary("*", Number((each.default or 0.0) / density), Symbol("M")) for each in _in_air(network)}
    )


def _in_air(network: ReactionNetwork) -> list[OpenParameter]:
    """Return the fixed species with a value in a file that gives the density of its own air."""
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
