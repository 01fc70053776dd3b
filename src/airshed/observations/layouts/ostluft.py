"""Layout of Ostluft, the network of the eastern Swiss cantons: a column for each series under lines of names."""

import math
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from airshed.observations.layouts.layout import FileOptions, Layout, Record, TableRows, period_in
from airshed.observations.parameters import is_pollutant, parameter_of, unit_in
from airshed.observations.text_file import TextFile
from airshed.observations.time_convention import TimeConvention, read_label


class _Head(NamedTuple):
    """The lines of names: number of the first line of values, and column, station, pollutant, unit, period."""

    first: int
    series: list[tuple[int, str, str, str, float]]


def _head(file: TextFile) -> _Head | None:
    """Return the lines of names, None for a file of another layout.

    The first line has the stations. The lines of pollutants, units and intervals are recognised by their cells, in any
    order.
    """
    first = next((n for n, cells in enumerate(file.head) if cells and read_label(cells[0])), -1)
    names = [cells for cells in file.head[: max(first, 0)] if len(cells) > 1 and any(cells[1:])]
    if first < 0 or len(names) < 4 or len({len(cells) for cells in names}) != 1:
        return None

    def best(test: Callable[[str], object]) -> list[str]:
        return max(names[1:], key=lambda cells: sum(bool(test(cell)) for cell in cells[1:]))

    parameters, units, periods = best(is_pollutant), best(unit_in), best(lambda cell: period_in(cell) > 0.0)
    series = [
        (n, names[0][n], parameter_of(parameters[n]), unit_in(units[n]), period_in(periods[n]))
        for n in range(1, len(names[0]))
        if is_pollutant(parameters[n]) and unit_in(units[n]) and period_in(periods[n]) > 0.0
    ]
    once = {each[1:3] + each[4:]: each for each in reversed(series)}  # the first of several units
    return _Head(first, sorted(once.values())) if series else None


def _read(rows: TableRows, options: FileOptions) -> Iterator[Record]:
    head = _head(rows.file)
    assert head is not None
    width = len(rows.file.head[head.first - 1])
    for line, cells in rows.within(head.first, width, 0, len(head.series)):
        for number, station, parameter, unit, period in head.series:
            yield Record(line, station, parameter, cells[number], unit, cells[0], period=period)


LAYOUT: Final = Layout(
    "Ostluft", lambda file: _head(file) is not None, _read, TimeConvention("UTC+01:00", "start"), math.nan,
    columns="a column for each series under lines of names: station, pollutant, interval such as `min30`, unit "
    "(`Zeit` or `Startzeit`)",
    source="Etc/GMT-1 and start of the interval in the package rOstluft",
    units="a line of names",
)  # fmt: skip
