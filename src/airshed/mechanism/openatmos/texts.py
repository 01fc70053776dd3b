"""Expressions as texts in comments of a file: ``"__rate": "5.7e-34*(TEMP/300)^-2.8*M"`` in molecules, cm3, s, K, Pa."""

from airshed.core.errors import MechanismError
from airshed.formula.evaluate import fold
from airshed.formula.tree import Expression
from airshed.mechanism.kpp.formula import read_rate
from airshed.mechanism.openatmos.node import Node


def expression_text(expression: Expression, where: str) -> str:
    """Return a text that :func:`read_expression` turns into the same folded expression.

    Raises MechanismError, which names the reaction, for a parameter whose name no formula can spell.
    """
    folded = fold(expression)
    text = str(folded)
    try:
        same = read_rate(text) == folded
    except MechanismError:
        same = False
    if not same:
        raise MechanismError(f"{where}: the rate {text[:80]!r} cannot be written as text: rename what it leaves open")
    return text


def read_expression(node: Node) -> Expression:
    """Return the expression of a text; raise MechanismError with the place."""
    try:
        return read_rate(node.text())
    except MechanismError as error:
        raise node.error(str(error)) from None
