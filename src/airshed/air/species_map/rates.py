"""The rates that a species map gives for what a mechanism leaves open."""

from collections.abc import Mapping

from airshed.core.errors import CaseError, MechanismError
from airshed.core.text import suggestion
from airshed.formula.tree import Expression, Number
from airshed.mechanism.kpp.meaning import read_rate
from airshed.mechanism.network import ReactionNetwork


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
    bound = bound.with_defaults()
    if bound.open_parameters:
        names = ", ".join(each.name for each in bound.open_parameters)
        raise CaseError(f"{source}: rates name {names}, which nothing explains, or which name each other in a circle")
    return bound


def _formula(value: str | float, where: str) -> Expression:
    if isinstance(value, float):
        return Number(value)
    try:
        return read_rate(value)
    except MechanismError as error:
        raise CaseError(f"{where} = {value!r} is not a rate: {error}") from None
