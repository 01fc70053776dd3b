"""Reader of the inventory's tables, which refuses invalid content by file and line."""

import csv
import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Final, TypeVar

from airshed.core.errors import DataError
from airshed.core.files import read_text
from airshed.core.text import suggestion

Value = TypeVar("Value")

MISSING: Final = "the inventory's folder must hold it (see docs/how-to/emissions.md)"
"""Remedy for a missing file of the inventory."""

_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


class Row:
    """Line of a table: its cells by column name, and its location."""

    __slots__ = ("_cells", "_columns", "line", "path")

    def __init__(self, path: Path, line: int, columns: Mapping[str, int], cells: list[str]) -> None:
        self.path, self.line = path, line
        self._columns, self._cells = columns, cells

    def text(self, column: str) -> str:
        """Return the cell of a column, without surrounding blanks."""
        return self._cells[self._columns[column]].strip()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the table's columns."""
        return tuple(self._columns)

    def name(self, column: str) -> str:
        """Return the cell of a column that must not be empty; raise DataError."""
        name = self.text(column)
        if not name:
            raise self.error(f"{column} is empty; write one, or remove the line")
        return name

    def has(self, column: str) -> bool:
        """Return whether the table has a column and the line an entry in it."""
        return column in self._columns and bool(self.text(column))

    def number(self, column: str, *, least: float = 0.0, most: float = math.inf) -> float:
        """Return the cell as a number; raise DataError if it is not one, not finite, or outside [least, most]."""
        text = self.text(column)
        try:
            value = float(text if _NUMBER.fullmatch(text) else "")  # Python accepts 1_000 and digits of other scripts
        except ValueError:
            raise self.error(f"{column} {text[:40]!r} is not a number") from None
        if not math.isfinite(value):
            raise self.error(f"{column} is {text[:40]}; give a finite number or remove the line")
        if not least <= value <= most:
            limit = f"at least {least:g}" if value < least else f"at most {most:g}"
            raise self.error(f"{column} is {text[:40]}, but must be {limit}")
        return value

    def known(self, column: str, known: Iterable[str]) -> str:
        """Return the cell as one of the known names; raise DataError that suggests the nearest."""
        name = self.text(column)
        if name not in known:
            raise self.error(f"{column} {name[:40]!r} is unknown; {suggestion(name, known)}")
        return name

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.path}, line {self.line}"

    def error(self, message: str) -> DataError:
        """Return an error that names the file and the line."""
        return DataError(f"{self.where}: {message}")


def read_table(
    path: Path, columns: Iterable[str], *, but: tuple[str, Container[str]] = ("", ()),
    bad: Callable[[str, str], None] | None = None,
) -> Iterator[Row]:  # fmt: skip
    """Yield the lines of a comma-separated UTF-8 file with the given columns; further columns are allowed.

    but  a column, and names: lines with one of them there are skipped, which is much faster than parsing them
    bad  called with a line of the wrong length, and a description of the fault, instead of an error

    Raises DataError for a file that is missing, is not text, lacks a column, has one twice, or has a line of the wrong
    length.
    """
    reader = csv.reader(StringIO(read_text(path, MISSING), newline=""), strict=True)
    try:
        names = [name.strip() for name in next(reader, [])]
        header = {name: index for index, name in enumerate(names)}
        missing = [name for name in columns if name not in header]
        if missing:
            raise DataError(
                f"{path} lacks the column {', '.join(missing)}; it has {', '.join(map(repr, header))[:200] or 'none'}"
            )
        twice = [name for index, name in enumerate(names) if name in names[:index]]
        if twice:
            raise DataError(f"{path}, line 1: the column {twice[0]!r} occurs twice; remove one of the two")
        chosen, others = header.get(but[0], 0), but[1]
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(names):
                where, wrong = f"{path}, line {reader.line_num}", f"{len(cells)} cells, but {len(names)} columns"
                if bad is None:
                    raise DataError(f"{where}: {wrong}")
                bad(where, wrong)
                continue
            if cells[chosen] in others:
                continue
            yield Row(path, reader.line_num, header, cells)
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: not a table row ({error}); correct the line") from None


def header(path: Path) -> tuple[str, ...]:
    """Return the column names of a table; raise DataError as :func:`read_table` does."""
    for row in read_table(path, ()):
        return row.columns
    raise DataError(f"{path} has no rows; download it again")


def unique(into: dict[str, Value], key: str, value: Value, row: Row) -> None:
    """Add an entry; raise DataError if the table has it twice."""
    if key in into:
        raise row.error(f"{key} occurs twice; remove one of the two lines")
    into[key] = value
