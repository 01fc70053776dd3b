"""What a conditions file may give for a value: a constant with its unit, a formula, or a column of a CSV file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from airshed.core.errors import CaseError
from airshed.core.formula import Given, given
from airshed.core.nearest import suggestion
from airshed.core.settings import KEY, refuse
from airshed.core.units import quantity

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

MOST_HUMIDITY: Final = 2.0
"""Relative humidity [1] above which a number can only have been meant in per cent."""

_KEYS: Final = ("csv", "column", "time", "unit")


@dataclass(frozen=True)
class FromCsv:
    """A column of a CSV file over time, straight lines between its rows.

    csv     path of the file, relative to that of the conditions
    time    the column of times since local midnight of the first day
    unit    of the values where the head of the column does not tell it, as in "NO [ppb]"
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
        return given(value.text if isinstance(value, Given) else value, units, where=where)
    unknown = [str(key) for key in value if key not in _KEYS]
    if unknown:
        raise CaseError(f"{where}.{unknown[0]} is not known; {suggestion(unknown[0], _KEYS)}")
    for key in ("csv", "column"):
        if key not in value:
            raise CaseError(f'{where} has no {key}: write {{ csv = "file.csv", column = "name" }}')
    wrong = [key for key, text in value.items() if not isinstance(text, str)]
    if wrong:
        raise CaseError(f"{where}.{wrong[0]} must be a text in quotes, not {value[wrong[0]]!r}")
    unit = value.get("unit")
    if unit is not None:
        quantity(f"1 {unit}" if unit != "1" else "1", units, where=f"{where}.unit")
    return FromCsv(value["csv"], value["column"], value.get("time", "time"), unit, tuple(units))


@dataclass(frozen=True)
class GivenIn:
    """Annotates a field that holds a constant or a column in one of ``units``, or a formula in the first of them."""

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
    return zero.value + (one.value - zero.value) * numbers, one.unit
