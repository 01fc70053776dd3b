"""The rates that a species map gives for what a mechanism leaves open."""

from collections.abc import Mapping

from airshed.core.errors import CaseError
from airshed.mechanism.expressions import Expression
from airshed.mechanism.kpp.parser import parse_section
from airshed.mechanism.kpp.statements import EquationStatement, MisplacedError
from airshed.mechanism.network import ReactionNetwork

_BEFORE, _AFTER = "A = B : ", ";"


def bind_rates(network: ReactionNetwork, rates: Mapping[str, str | float], source: str) -> ReactionNetwork:
    """Return the network with the map's formulas, then the mechanism's defaults, in the place of what it leaves open.

    source  the file of the map, for messages
    Raises CaseError for a text that is no rate.
    """
    formulas = {name: _formula(value, f"{source}: rates.{name}") for name, value in rates.items()}
    return network.bind(formulas).with_defaults()


def _formula(value: str | float, where: str) -> Expression | float:
    """Return the formula of a text, in the language of the rates of reaction files."""
    if isinstance(value, float):
        return value
    text = f"{_BEFORE}{value}{_AFTER}"
    try:
        statements = parse_section("EQUATIONS", text, 0, len(text))
    except MisplacedError as error:
        raise CaseError(f"{where} = {value!r} is not a rate: {error}") from None
    if len(statements) != 1 or not isinstance(statements[0], EquationStatement):
        raise CaseError(f"{where} = {value!r} is more than one rate; leave out the semicolon")
    return statements[0].rate
