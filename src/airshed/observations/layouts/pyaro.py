"""Layout of the CSV reader of pyaro, the input of pyaerocom."""

from collections.abc import Iterator
from typing import Final

from airshed.observations.layouts.layout import (
    HOUR,
    Columns,
    FileOptions,
    Layout,
    Record,
    TableRows,
    first_line,
    names_of,
)
from airshed.observations.layouts.long import read_long, table_columns
from airshed.observations.text_file import TextFile
from airshed.observations.time_convention import TimeConvention, read_label

COLUMNS: Final = ["variable", "station", "longitude", "latitude", "value", "units", "start_time", "end_time"]
"""The columns of a file without a line of names, in this order."""


def _has_names(file: TextFile) -> bool:
    return Columns(names_of(file)).has("variable", "station", "value", "start_time", "end_time")


def _recognise(file: TextFile) -> bool:
    cells = names_of(file)
    if _has_names(file):
        return True
    return len(cells) >= len(COLUMNS) and _is_number(cells[2]) and bool(read_label(cells[6]) and read_label(cells[7]))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read(rows: TableRows, options: FileOptions) -> Iterator[Record]:
    at, has_names = first_line(rows.file), _has_names(rows.file)
    cells = rows.file.head[at]
    names = cells if has_names else [*COLUMNS, *(f"column {n}" for n in range(len(COLUMNS), len(cells)))]
    yield from read_long(rows, options, names, at + has_names, table_columns(rows.file, names))


LAYOUT: Final = Layout(
    "pyaro", _recognise, _read, TimeConvention("UTC", "start and end"), HOUR,
    columns="`variable`, `station`, `longitude`, `latitude`, `value`, `units`, `start_time`, `end_time`, also without "
    "a line of names",
    source="pyaro: start and end of each mean, in UTC", flags=frozenset({"", "0", "valid"}),
)  # fmt: skip
