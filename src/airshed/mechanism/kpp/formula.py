"""Reads a single rate, such as a species map or the conditions of a box give it."""

from airshed.core.errors import MechanismError
from airshed.formula.tree import Expression
from airshed.mechanism.kpp.meaning import Meaning, meant
from airshed.mechanism.kpp.parser import parse_formula
from airshed.mechanism.kpp.statements import MisplacedError


def read_rate(text: str) -> Expression:
    """Return the folded expression of a formula in the language of rates; names that it does not know stay open.

    Raises MechanismError with the column.
    """
    meaning = Meaning()
    try:
        expression = meaning.expression(parse_formula(text), 0)
    except MisplacedError as error:
        raise MechanismError(f"column {error.offset + 1}: {error.message}") from None
    if meaning.unknown:
        first = meaning.unknown[0]
        raise MechanismError(f"column {first.offset + 1}: there is no function {first.text!r}{meant(first.name, {})}")
    return expression
