"""The rates that a species map gives for what a mechanism leaves open."""

from collections.abc import Mapping
from pathlib import Path

from airshed.core.errors import CaseError, MechanismError
from airshed.mechanism.kpp.meaning import Definition
from airshed.mechanism.kpp.parser import parse_formula
from airshed.mechanism.kpp.statements import MisplacedError
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.rates_file import RatesFile, with_rates


def bind_rates(network: ReactionNetwork, rates: Mapping[str, str | float], source: str) -> ReactionNetwork:
    """Return the network with the map's formulas, then the mechanism's defaults, in the place of what it leaves open.

    rates   formulas in the language of reaction files, which may name each other
    source  the file of the map, for messages

    Raises MechanismError for a text that is no formula and a name that no rate needs, CaseError for names in formulas
    that nothing explains.
    """
    definitions = {name.casefold(): _definition(name, value, source) for name, value in rates.items()}
    bound = with_rates(network, RatesFile(Path(source), definitions)).with_defaults()
    if bound.open_parameters:
        names = ", ".join(each.name for each in bound.open_parameters)
        raise CaseError(f"{source}: its rates name {names}, which nothing explains; give each a line in [rates]")
    return bound


def _definition(name: str, value: str | float, source: str) -> Definition:
    def locate(error: MisplacedError) -> MechanismError:
        return MechanismError(f"{source}: rates.{name} = {value!r}: {error.message}")

    try:
        return Definition(name, (), parse_formula(value if isinstance(value, str) else repr(value)), locate)
    except MisplacedError as error:
        raise locate(error) from None
