"""Reads the inventory's tables and refuses, by file and line, whatever is not as it should be."""

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from airshed.core.errors import DataError
from airshed.core.nearest import suggestion

Value = TypeVar("Value")


class Row:
    """One line of a table: its cells by column name, and where it stands."""

    __slots__ = ("_cells", "_columns", "line", "path")

    def __init__(self, path: Path, line: int, columns: Mapping[str, int], cells: list[str]) -> None:
        self.path, self.line = path, line
        self._columns, self._cells = columns, cells

    def text(self, column: str) -> str:
        """The cell of a column, without surrounding blanks."""
        return self._cells[self._columns[column]].strip()

    def has(self, column: str) -> bool:
        """Whether the table has a column and the line an entry in it."""
        return column in self._columns and bool(self.text(column))

    def number(self, column: str, *, least: float = 0.0, most: float = math.inf) -> float:
        """The cell as a number; raises DataError when it is none, not finite, or outside [least, most]."""
        text = self.text(column)
        try:
            value = float(text)
        except ValueError as error:
            raise self.error(f"{column} {text!r} is not a number") from error
        if not math.isfinite(value):
            raise self.error(f"{column} is {text}; give a finite number or remove the line")
        if not least <= value <= most:
            limit = f"at least {least:g}" if value < least else f"at most {most:g}"
            raise self.error(f"{column} is {text}, but must be {limit}")
        return value

    def known(self, column: str, known: Iterable[str]) -> str:
        """The cell as one of the known names; raises DataError that suggests the nearest."""
        name = self.text(column)
        if name not in known:
            raise self.error(f"{column} {name!r} is unknown; {suggestion(name, known)}")
        return name

    def error(self, message: str) -> DataError:
        """An error that names the file and the line."""
        return DataError(f"{self.path}, line {self.line}: {message}")


def read_table(path: Path, columns: Iterable[str]) -> Iterator[Row]:
    """Yield the lines of a comma-separated UTF-8 file that must have the given columns; others may be there too.

    Raises DataError for a file that is missing, is not text, lacks a column or has a line of the wrong length.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = {name.strip(): index for index, name in enumerate(next(reader, []))}
            missing = [name for name in columns if name not in header]
            if missing:
                raise DataError(f"{path} lacks the column {', '.join(missing)}; it has {', '.join(header) or 'none'}")
            for cells in reader:
                if not cells:
                    continue
                if len(cells) != len(header):
                    raise DataError(f"{path}, line {reader.line_num}: {len(cells)} cells, but {len(header)} columns")
                yield Row(path, reader.line_num, header, cells)
    except FileNotFoundError as error:
        raise missing_file(path) from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a table ({error}); get a fresh copy of the file") from error


def missing_file(path: Path) -> DataError:
    """The error for a file of the inventory that is not there."""
    return DataError(f"{path} does not exist; the inventory's folder must hold it (see docs/emissions.md)")


def header(path: Path) -> tuple[str, ...]:
    """The column names of a table; raises DataError as :func:`read_table` does."""
    for row in read_table(path, ()):
        return tuple(row._columns)
    raise DataError(f"{path} holds no lines; get a fresh copy of the file")


def unique(into: dict[str, Value], key: str, value: Value, row: Row) -> None:
    """Add an entry; raises DataError when the table has it twice."""
    if key in into:
        raise row.error(f"{key} comes a second time; remove one of the two lines")
    into[key] = value
