"""Layout of Ostluft, the network of the eastern Swiss cantons: a column for each series under lines of names."""

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

from airshed.observations.layouts.layout import FileOptions, Layout, Record, period_in, wrong_length
from airshed.observations.parameters import is_pollutant, parameter_of, unit_in
from airshed.observations.text_file import TextFile
from airshed.observations.time_convention import TimeConvention, read_label

_TIME: Final = frozenset({"zeit", "startzeit", "datum/zeit", "zeitpunkt", "kanal", "messstation", "station", "datum"})


class _Head(NamedTuple):
    """The lines of names: number of the first line of values, and stations, pollutants, units, periods by column."""

    first: int
    stations: list[str]
    parameters: list[str]
    units: list[str]
    periods: list[float]


def _head(file: TextFile) -> _Head | None:
    """Return the lines of names, None for a file of another layout."""
    first = next((n for n, cells in enumerate(file.head) if cells and read_label(cells[0])), -1)
    names = [cells for cells in file.head[: max(first, 0)] if len(cells) > 1 and any(cells[1:])]
    if first < 0 or len(names) < 3 or len({len(cells) for cells in names}) != 1:
        return None

    def lines(test: object) -> list[list[str]]:
        return [cells[1:] for cells in names if all(callable(test) and test(cell) for cell in cells[1:])]

    parameters, units = lines(is_pollutant), lines(unit_in)
    periods = lines(lambda cell: period_in(cell) == period_in(cell))
    known = parameters + units + periods
    stations = [cells[1:] for cells in names if cells[0].casefold() in _TIME and cells[1:] not in known]
    if not (parameters and units and periods):
        return None
    if not stations:
        stations = [names[0][1:]]
    return _Head(first, stations[0], [parameter_of(cell) for cell in parameters[0]], [unit_in(u) for u in units[0]],
                 [period_in(cell) for cell in periods[0]])  # fmt: skip


def _read(file: TextFile, options: FileOptions) -> Iterator[Record]:
    head = _head(file)
    assert head is not None
    width = len(head.stations) + 1
    series = list(zip(head.stations, head.parameters, head.units, head.periods, strict=True))
    for line, cells in file.rows(head.first):
        wrong = wrong_length(line, cells, width)
        if wrong or cells is None:
            yield wrong or Record(line)
            continue
        for (station, parameter, unit, period), value in zip(series, cells[1:], strict=False):
            yield Record(line, station, parameter, value, unit, cells[0], period=period)


LAYOUT: Final = Layout(
    "Ostluft", lambda file: _head(file) is not None, _read, TimeConvention("UTC+01:00", "start"), math.nan,
    columns="`Zeit` and a column for each series, under lines of names: station, pollutant, interval such as `min30`, "
    "unit",
    source="Etc/GMT-1 and start of the interval in the package rOstluft",
    units="a line of names",
)  # fmt: skip
