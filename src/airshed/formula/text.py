"""Printing of formulas as text, which parses back to the same value."""

import re
from typing import Final

import numpy as np

from airshed.formula.tree import (
    Binary,
    Call,
    Compare,
    Expression,
    Logic,
    NamedValue,
    Negate,
    Number,
    ordered,
)

_PLAIN: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\((\w+|[\d.e+-]+(, [\d.e+-]+)*)\))?", re.ASCII)
"""Names that need no quotes in a formula."""

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _NEGATION, _POWER, _ATOM = range(9)
_BINDING: Final = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT, "^": _POWER}
_CONNECTIVE: Final = {"and": _AND, "or": _OR}

Printed = tuple[str, int]
"""A text and its binding strength."""


def text(expression: Expression) -> str:
    """Return a formula as readable text, with powers as ``**``."""
    printed: dict[Expression, Printed] = {}
    for node in ordered([expression]):
        printed[node] = _printed(node, [printed[child] for child in node.children])
    return printed[expression][0]


def _printed(node: Expression, operands: list[Printed]) -> Printed:
    match node:
        case Number(value):
            return _number(value), _ATOM if np.copysign(1.0, value) > 0 else _NEGATION
        case NamedValue(name):
            return name if _PLAIN.fullmatch(name) else f'"{name}"', _ATOM
        case Call(name):
            return f"{name}({', '.join(text for text, _ in operands)})", _ATOM
        case Negate():
            return f"-{_bracketed(operands[0], _NEGATION)}", _NEGATION
        case Binary(operator):
            own = _BINDING[operator]
            # the power binds to the right, other operators to the left
            left, right = (_bracketed(each, own + (side == (operator != "^"))) for side, each in enumerate(operands))
            sign = {"^": "**"}.get(operator, operator)
            return f"{left} {sign} {right}" if own == _SUM else f"{left}{sign}{right}", own
        case Compare(operator):
            left, right = (_bracketed(each, _SUM) for each in operands)
            return f"{left} {operator} {right}", _COMPARE
        case Logic("not"):
            return f"not {_bracketed(operands[0], _COMPARE)}", _NOT
        case Logic(connective):
            own = _CONNECTIVE[connective]
            return f" {connective} ".join(_bracketed(each, own + 1) for each in operands), own
    raise TypeError(f"not a node of a formula: {node!r}")


def _number(value: float) -> str:
    return repr(value) if np.isfinite(value) else "nan" if np.isnan(value) else "-1e999" if value < 0.0 else "1e999"


def _bracketed(operand: Printed, least: int) -> str:
    text, binding = operand
    return text if binding >= least else f"({text})"
