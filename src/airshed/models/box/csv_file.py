"""CSV files of numbers: a head whose names may have units, as in "O3 [ppb]", and rows of numbers."""

import csv
from dataclasses import dataclass
from io import StringIO
from math import isfinite
from pathlib import Path

import numpy as np
import numpy.typing as npt

from airshed.core.errors import DataError
from airshed.core.files import read_text
from airshed.core.text import suggestion
from airshed.core.units import to
from airshed.models.box.values import FromCsv, converted

Array = npt.NDArray[np.float64]


Columns = dict[str, tuple[str | None, Array]]
"""The columns of a file: name -> (unit or None, numbers)."""


def read_csv(path: Path) -> Columns:
    """Return all columns of a file; raises DataError with the line of what is no number."""
    reader = csv.reader(StringIO(read_text(path), newline=""), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if any(row)]
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num} cannot be read as CSV: {error}") from None
    rows = [(line, row) for line, row in rows if not row[0].lstrip().startswith("#")]
    if len(rows) < 2:
        raise DataError(f"{path} needs a line with the names of its columns, and numbers below")
    heads = [_head(text.strip()) for text in rows[0][1]]
    names = [name for name, _ in heads]
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise DataError(f"{path}: the column {twice[0]!r} stands twice")
    table = np.array([_numbers(path, line, row, len(names)) for line, row in rows[1:]])
    return {name: (unit, table[:, number]) for number, (name, unit) in enumerate(heads)}


def _head(text: str) -> tuple[str, str | None]:
    """Return the name of a column and its unit, which stands behind it in brackets."""
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
            raise DataError(f"{path}:{line}: {text[:40]!r} is no number") from None
        if not isfinite(numbers[-1]):
            raise DataError(f"{path}:{line}: {text[:40]!r} is not finite")
    return numbers


@dataclass(frozen=True)
class Knots:
    """Values over time [s since local midnight of the first day] with straight lines between them."""

    key: str
    source: str
    times: Array
    values: Array
    unit: str

    def at(self, times: npt.ArrayLike) -> Array:
        """Return the values at times; raises DataError beyond the ends."""
        wanted = np.asarray(times, np.float64)
        slack = 1e-9 * max(1.0, abs(float(self.times[-1])))
        for beyond in (wanted.min(initial=np.inf), wanted.max(initial=-np.inf)):
            if isfinite(beyond) and not self.times[0] - slack <= beyond <= self.times[-1] + slack:
                ends = f"from {self.times[0]:.10g} s to {self.times[-1]:.10g} s"
                raise DataError(f"{self.key}: {self.source} goes {ends}, but t = {beyond:.10g} s is needed")
        return np.interp(wanted, self.times, self.values)


def read_knots(value: FromCsv, folder: Path, *, key: str) -> Knots:
    """Return a column over time, both converted; raises DataError."""
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
        raise DataError(f"{path}: times in column {value.time!r} must increase, but do not behind row {line - 1}")
    unit = value.unit or own_unit
    if unit is None and value.units[0] != "1":
        raise DataError(f'{key}: {path} gives no unit of {value.column!r}; write unit = "{value.units[0]}"')
    values, known = converted(numbers, unit or "1", value.units, where=f"{key}: column {value.column!r} of {path}")
    return Knots(key, str(path), factor * times, values, known)
