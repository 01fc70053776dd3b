"""What a conditions file may give for a value: a constant with its unit, a formula, or a column of a CSV file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from airshed.core.errors import CaseError
from airshed.core.settings import KEY, refuse
from airshed.core.text import shown, suggestion
from airshed.core.units import quantity
from airshed.formula.given import Given, given
from airshed.formula.parse import LONGEST, parse
from airshed.formula.tree import Binary, Call, Number

Array = npt.NDArray[np.float64]

CONCENTRATION: Final = "molecules/cm3"

RATE_UNITS: Final = (
    "1",
    "1/s",
    "cm3/s",
    "cm3/molecules/s",
    "cm6/s",
    "cm6/molecules2/s",
    "cm9/molecules3/s",
    "molecules/cm3/s",
    "m",
    "1/m3",
    CONCENTRATION,
    "K",
    "Pa",
)
"""Units of what mechanisms leave open; which of them a name takes is known with the mechanism."""

_SPELLINGS: Final = {
    "cm3/s": "cm3/molecules/s",
    "cm6/s": "cm6/molecules2/s",
    "cm9/s": "cm9/molecules3/s",
}
MOST_HUMIDITY: Final = 1.5
"""Relative humidity [1] that no air exceeds: a larger number can only have been meant in per cent."""

_MOST_PARTS: Final = 6  # that blanks part of a unit: "molecules / cm3 / s" has five
_KEYS: Final = ("csv", "column", "time", "unit")


@dataclass(frozen=True)
class FromCsv:
    """A column of a CSV file over time, straight lines between its rows.

    csv     path of the file, relative to that of the conditions
    time    the column of times since local midnight of the first day
    unit    of the values where the head of the column has none, as in "NO [ppb]"
    units   in which the values may be, the one of numbers in use first
    """

    csv: str
    column: str
    time: str
    unit: str | None
    units: tuple[str, ...]

    def to_dict(self) -> dict[str, str]:
        """Return it as it stands in a conditions file."""
        return {name: value for name in _KEYS if (value := getattr(self, name)) is not None}


Value = Given | FromCsv


def value_of(value: object, units: Sequence[str], *, where: str) -> Value:
    """Return a constant in one of ``units``, a formula in the first of them, or a column of a file; raise CaseError."""
    if not isinstance(value, Mapping):
        return _given(value.text if isinstance(value, Given) else value, units, where)
    column = _column(value, where)
    if column.unit is not None:
        quantity(f"1 {column.unit}" if column.unit != "1" else "1", units, where=f"{where}.unit")
    return replace(column, units=tuple(units))


def _column(value: Mapping[Any, Any], where: str) -> FromCsv:
    """Return a column of a file in any unit; raises CaseError for a key that is unknown, missing or no text."""
    unknown = [str(key) for key in value if key not in _KEYS]
    if unknown:
        raise CaseError(f"{where}.{unknown[0]} is not known; {suggestion(unknown[0], _KEYS)}")
    for key in ("csv", "column"):
        if key not in value:
            raise CaseError(f'{where} has no {key}: write {{ csv = "file.csv", column = "name" }}')
    wrong = [key for key, text in value.items() if not isinstance(text, str)]
    if wrong:
        raise CaseError(f"{where}.{wrong[0]} must be a text in quotes, not {shown(value[wrong[0]])}")
    return FromCsv(value["csv"], value["column"], value.get("time", "time"), value.get("unit"), ())


def _given(value: object, units: Sequence[str], where: str) -> Given:
    """Return a constant in one of ``units``, or a formula: in the first of them, or all of it in the unit behind it."""
    try:
        return given(value, units, where=where)
    except CaseError:
        found = _with_unit(value.strip(), units, where) if isinstance(value, str) else None
        if found is None:
            raise
        return found


def _with_unit(text: str, units: Sequence[str], where: str) -> Given | None:
    """Return a formula that a unit follows, as in "50 + 10*sin(t) %", or None for what is none."""
    places = list(re.finditer(r"(?<!\s)\s+(?=\S)|(?=%$)", text)) if len(text) <= LONGEST else []
    for match in reversed(places[-_MOST_PARTS:]):
        unit = text[match.end() :]
        try:
            formula = parse(text[: match.start()], where=where)
            if not formula.names and not isinstance(formula.tree, Binary | Call):
                continue  # a constant, whose error has been raised
            quantity(f"1 {unit}", (unit,), where=where)
        except CaseError:
            continue
        one, zero = (
            quantity(f"{number} {unit}", units, where=f"{where} = {shown(text)}: its unit") for number in (1, 0)
        )
        if one.unit == "mol/mol":
            raise CaseError(
                f"{where} = {shown(text)}: a formula is in {units[0]}; write ({formula.text})*{one.value:g}*M"
            )
        scaled = Binary("*", formula.tree, Number(one.value - zero.value))
        tree = Binary("+", scaled, Number(zero.value)) if zero.value else scaled
        return Given(text, float("nan"), one.unit, replace(formula, text=text, tree=tree))
    return None


@dataclass(frozen=True)
class GivenIn:
    """Annotates a field that holds a constant, a formula or a column in one of ``units``."""

    units: tuple[str, ...]

    def __call__(self, value: object) -> Value:
        """Return the value; raises the validator's error."""
        try:
            return value_of(value.to_dict() if isinstance(value, FromCsv) else value, self.units, where=KEY)
        except CaseError as error:
            raise refuse(str(error)) from error

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make pydantic validate the field by this object alone."""
        return core_schema.no_info_plain_validator_function(self)


Temperature = Annotated[Value, GivenIn(("K",))]
Pressure = Annotated[Value, GivenIn(("Pa",))]
Factor = Annotated[Value, GivenIn(("1",))]
Concentration = Annotated[Value, GivenIn((CONCENTRATION, "mol/mol"))]
Rate = Annotated[Value, GivenIn(RATE_UNITS)]
Source = Annotated[Value, GivenIn((f"{CONCENTRATION}/s",))]
LossRate = Annotated[Value, GivenIn(("1/s",))]


def converted(numbers: Array, unit: str, units: Sequence[str], *, where: str) -> tuple[Array, str]:
    """Return numbers of a unit in the first of ``units`` that measures the same, and that one; raises CaseError."""
    zero, one = (quantity(f"{number} {unit}" if unit != "1" else str(number), units, where=where) for number in (0, 1))
    with np.errstate(over="ignore"):  # what is too large is refused where it is used
        return zero.value + (one.value - zero.value) * numbers, one.unit


def spellings(units: Iterable[str]) -> tuple[str, ...]:
    """Return units, and how else they are written: cm3/molecules/s for cm3/s."""
    pairs = [*_SPELLINGS.items(), *((other, unit) for unit, other in _SPELLINGS.items())]
    found = dict.fromkeys("molecules/cm3" if unit == "molecules cm-3" else unit for unit in units)
    return tuple(found | dict.fromkeys(other for unit, other in pairs if unit in found))
