"""Values in a conditions file: a constant with its unit, a formula, or a column of a CSV file."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import numpy.typing as npt
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from airshed.core.arrays import Array
from airshed.core.errors import CaseError, DataError
from airshed.core.files import read_text
from airshed.core.settings import KEY, refuse
from airshed.core.text import shown, suggestion
from airshed.core.units import quantity, to
from airshed.formula.parse import LONGEST, parse
from airshed.formula.quantity import FormulaQuantity, formula_quantity
from airshed.formula.tree import Binary, Call, Number

Columns = dict[str, tuple[str | None, Array]]
"""Columns of a file: name -> (unit or None, numbers)."""

CONCENTRATION: Final = "molecules/cm3"

RATE_UNITS: Final = (
    "1", "1/s", "cm3/s", "cm3/molecules/s", "cm6/s", "cm6/molecules2/s", "cm9/molecules3/s", "molecules/cm3/s", "m",
    "1/m3", CONCENTRATION, "K", "Pa",
)  # fmt: skip
"""Units of open parameters of mechanisms; the mechanism determines the valid units of each name."""

_SPELLINGS: Final = {"cm3/s": "cm3/molecules/s", "cm6/s": "cm6/molecules2/s", "cm9/s": "cm9/molecules3/s"}


MOST_HUMIDITY: Final = 1.5
"""Maximum relative humidity [1]: a larger number must be in per cent."""
_MOST_PARTS: Final = 6  # maximum number of parts of a unit between blanks: "molecules / cm3 / s" has five
_KEYS: Final = ("csv", "column", "time", "unit")


@dataclass(frozen=True)
class CsvColumn:
    """Column of a CSV file over time, interpolated linearly between its rows.

    csv     path of the file, relative to the conditions file
    time    name of the column of times since local midnight of the first day
    unit    unit of the values if the column heading has none, as in "NO [ppb]"
    units   valid units of the values, that of numbers first
    """

    csv: str
    column: str
    time: str
    unit: str | None
    units: tuple[str, ...]

    def to_dict(self) -> dict[str, str]:
        """Return the table for a conditions file."""
        return {name: value for name in _KEYS if (value := getattr(self, name)) is not None}


Value = FormulaQuantity | CsvColumn


def parse_value(value: object, units: Sequence[str], *, where: str) -> Value:
    """Return a constant in one of ``units``, a formula in the first unit, or a column of a file; raises CaseError."""
    if not isinstance(value, Mapping):
        return _formula_quantity(value.text if isinstance(value, FormulaQuantity) else value, units, where)
    column = _column(value, where)
    if column.unit is not None:
        quantity(f"1 {column.unit}" if column.unit != "1" else "1", units, where=f"{where}.unit")
    return replace(column, units=tuple(units))


def _column(value: Mapping[Any, Any], where: str) -> CsvColumn:
    """Return a column of a file in any unit; raises CaseError for a key that is unknown, missing or not text."""
    unknown = [str(key) for key in value if key not in _KEYS]
    if unknown:
        raise CaseError(f"{where}.{unknown[0]} is unknown; {suggestion(unknown[0], _KEYS)}")
    for key in ("csv", "column"):
        if key not in value:
            raise CaseError(f'{where} has no {key}: write {{ csv = "file.csv", column = "name" }}')
    wrong = [key for key, text in value.items() if not isinstance(text, str)]
    if wrong:
        raise CaseError(f"{where}.{wrong[0]} must be a text in quotes, not {shown(value[wrong[0]])}")
    return CsvColumn(value["csv"], value["column"], value.get("time", "time"), value.get("unit"), ())


def _formula_quantity(value: object, units: Sequence[str], where: str) -> FormulaQuantity:
    """Return a constant in one of ``units``, or a formula in the first unit or in the unit that follows it."""
    try:
        return formula_quantity(value, units, where=where)
    except CaseError:
        found = _with_unit(value.strip(), units, where) if isinstance(value, str) else None
        if found is None:
            raise
        return found


def _with_unit(text: str, units: Sequence[str], where: str) -> FormulaQuantity | None:
    """Return a formula followed by a unit, as in "50 + 10*sin(t) %", or None for other text."""
    places = list(re.finditer(r"(?<!\s)\s+(?=\S)|(?=%$)", text)) if len(text) <= LONGEST else []
    for match in reversed(places[-_MOST_PARTS:]):
        unit = text[match.end() :]
        try:
            formula = parse(text[: match.start()], where=where)
            if not formula.names and not isinstance(formula.tree, Binary | Call):
                continue  # a constant: the caller raises its error
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
        return FormulaQuantity(text, float("nan"), one.unit, replace(formula, text=text, tree=tree))
    return None


@dataclass(frozen=True)
class ValueField:
    """Validator of a field with a constant, a formula or a column in one of ``units``."""

    units: tuple[str, ...]

    def __call__(self, value: object) -> Value:
        """Return the value; raises a validation error."""
        try:
            return parse_value(value.to_dict() if isinstance(value, CsvColumn) else value, self.units, where=KEY)
        except CaseError as error:
            raise refuse(str(error)) from error

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return a schema that validates the field by this object only."""
        return core_schema.no_info_plain_validator_function(self)

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the field: a number, a formula, or a table that names a column of a CSV file."""
        return {"type": ["number", "string", "object"], "x-unit": " or ".join(self.units)}


Temperature = Annotated[Value, ValueField(("K",))]
Pressure = Annotated[Value, ValueField(("Pa",))]
Factor = Annotated[Value, ValueField(("1",))]
Concentration = Annotated[Value, ValueField((CONCENTRATION, "mol/mol"))]
Rate = Annotated[Value, ValueField(RATE_UNITS)]
Source = Annotated[Value, ValueField((f"{CONCENTRATION}/s",))]
LossRate = Annotated[Value, ValueField(("1/s",))]


def converted(numbers: Array, unit: str, units: Sequence[str], *, where: str) -> tuple[Array, str]:
    """Return numbers converted to the first of ``units`` with the same dimension, and this unit; raises CaseError."""
    zero, one = (quantity(f"{number} {unit}" if unit != "1" else str(number), units, where=where) for number in (0, 1))
    with np.errstate(over="ignore"):  # too large values are refused where they are used
        return zero.value + (one.value - zero.value) * numbers, one.unit


def spellings(units: Iterable[str]) -> tuple[str, ...]:
    """Return units with their alternative spellings: cm3/molecules/s for cm3/s."""
    pairs = [*_SPELLINGS.items(), *((other, unit) for unit, other in _SPELLINGS.items())]
    found = dict.fromkeys("molecules/cm3" if unit == "molecules cm-3" else unit for unit in units)
    return tuple(found | dict.fromkeys(other for unit, other in pairs if unit in found))


def read_csv(path: Path) -> Columns:
    """Return all columns of a file; raises DataError with the line of an invalid number."""
    reader = csv.reader(StringIO(read_text(path), newline=""), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if any(row)]
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num} cannot be read as CSV: {error}") from None
    rows = [(line, row) for line, row in rows if not row[0].lstrip().startswith("#")]
    if len(rows) < 2:
        raise DataError(f"{path} needs a line with the names of its columns, followed by rows of numbers")
    heads = [_head(text.strip()) for text in rows[0][1]]
    names = [name for name, _ in heads]
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise DataError(f"{path} has two columns {twice[0]!r}")
    table = np.array([_numbers(path, line, row, len(names)) for line, row in rows[1:]])
    return {name: (unit, table[:, number]) for number, (name, unit) in enumerate(heads)}


def _head(text: str) -> tuple[str, str | None]:
    """Return the name of a column and the unit that follows it in brackets."""
    name, bracket, unit = text.rpartition("[")
    is_unit = bool(bracket) and unit.endswith("]") and "]" not in unit[:-1]
    return (name.strip(), unit[:-1]) if is_unit else (text, None)


def _numbers(path: Path, line: int, row: list[str], count: int) -> list[float]:
    if len(row) != count:
        raise DataError(f"{path}:{line} has {len(row)} values, but there are {count} columns")
    numbers = []
    for text in row:
        try:
            numbers.append(float(text))
        except ValueError:
            raise DataError(f"{path}:{line}: {text[:40]!r} is not a number") from None
        if not isfinite(numbers[-1]):
            raise DataError(f"{path}:{line}: {text[:40]!r} is not finite")
    return numbers


@dataclass(frozen=True)
class PiecewiseLinear:
    """Values over time [s since local midnight of the first day], interpolated linearly."""

    key: str
    source: str
    times: Array
    values: Array
    unit: str

    def at(self, times: npt.ArrayLike) -> Array:
        """Return the values at times; raises DataError outside the range."""
        requested = np.asarray(times, np.float64)
        slack = 1e-9 * max(1.0, abs(float(self.times[-1])))
        for beyond in (requested.min(initial=np.inf), requested.max(initial=-np.inf)):
            if isfinite(beyond) and not self.times[0] - slack <= beyond <= self.times[-1] + slack:
                ends = f"{self.times[0]:.10g} s to {self.times[-1]:.10g} s"
                raise DataError(f"{self.key}: {self.source} covers {ends}, but t = {beyond:.10g} s is needed")
        return np.interp(requested, self.times, self.values)


def read_column(value: CsvColumn, folder: Path, *, key: str) -> PiecewiseLinear:
    """Return a column over time in SI units; raises DataError."""
    path = folder / value.csv
    try:
        file = read_csv(path)
    except DataError as error:
        raise DataError(f"{key}: {error}") from None
    for name in (value.column, value.time):
        if name not in file:
            raise DataError(f"{path} has no column {name!r}; {suggestion(name, file)}")
    (own_unit, numbers), (time_unit, times) = file[value.column], file[value.time]
    factor = to(f"1 {time_unit}", "s", where=f"{key}: column {value.time!r} of {path}") if time_unit else 1.0
    if np.any(np.diff(times) <= 0.0):
        line = int(np.argmax(np.diff(times) <= 0.0)) + 2
        raise DataError(f"{path}: times in column {value.time!r} must increase, but do not after row {line - 1}")
    unit = value.unit or own_unit
    if unit is None and value.units[0] != "1":
        raise DataError(f'{key}: {path} has no unit for {value.column!r}; write unit = "{value.units[0]}"')
    values, known = converted(numbers, unit or "1", value.units, where=f"{key}: column {value.column!r} of {path}")
    return PiecewiseLinear(key, str(path), factor * times, values, known)
