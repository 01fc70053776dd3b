"""Inputs of users: constants with a unit, or formulas, which may refer to one another."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.text import shown
from airshed.core.units import Quantity, quantity
from airshed.formula.functions import FUNCTIONS
from airshed.formula.parse import CONSTANTS, Formula, Value, parse, short, unknown_name


@dataclass(frozen=True)
class FormulaQuantity(Quantity):
    """A constant with its unit, or a formula whose result is in ``unit``; then ``value`` is NaN."""

    formula: Formula | None = field(default=None)


_PLAIN = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_UNIT_AHEAD = re.compile(r"[A-Za-zµμ°]|%\s*$|1\s*/\s*[A-Za-z]")


def formula_quantity(value: object, units: Sequence[str], *, where: str) -> FormulaQuantity:
    """Read a constant in one of ``units``, or a formula in the first of them.

    A number followed by a unit is a constant; any other text is a formula. Raises CaseError.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise CaseError(f"{where} must be a number with its unit, or a formula, in quotes, not {shown(value)}")
    text = str(value).strip()
    number = _PLAIN.match(text)
    rest = text[number.end() :].strip() if number else text
    if number and not rest and units[0] != "1":
        raise CaseError(
            f'{where} = {shown(value)} has no unit: write "{text if len(text) <= 40 else "N"} {units[0]}", '
            f"or a formula in t with operations in it, whose result is in {units[0]}"
        )
    if number and (not rest or _UNIT_AHEAD.match(rest)):
        found = quantity(text, units, where=where)
        return FormulaQuantity(found.text, found.value, found.unit)
    return FormulaQuantity(text, float("nan"), units[0], parse(text, where=where))


def evaluate_named(formulas: Mapping[str, Formula], given: Mapping[str, npt.ArrayLike]) -> dict[str, Value]:
    """Return the values of formulas that may refer to one another and to given values by name.

    Raises CaseError for an unknown name, and for formulas that refer to one another in a circle.
    """
    values: dict[str, Any] = dict(given)
    under_way: list[str] = []

    def settle(name: str) -> None:
        formula = formulas[name]
        if name in under_way:
            circle = " -> ".join([*under_way[under_way.index(name) :], name])
            raise CaseError(f"{formula.where} = {short(formula.text)!r} refers to itself: {circle}; break the circle")
        under_way.append(name)
        for needed in formula.names:
            if needed not in values:
                if needed not in formulas:
                    known = [name for name in (*given, *formulas) if name.isidentifier()]
                    raise unknown_name(formula, needed, [*known, *FUNCTIONS, *CONSTANTS])
                settle(needed)
        under_way.pop()
        values[name] = formula.evaluate(values)

    for name in formulas:
        if name not in values:
            settle(name)
    return {name: np.asarray(values[name]) for name in formulas}
