"""Base of the file layouts: recognition by content, time convention, and rows as records."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final, NamedTuple

from airshed.observations.parameters import is_pollutant, parameter_of
from airshed.observations.station import Station
from airshed.observations.text_file import TextFile
from airshed.observations.time_convention import TimeConvention, read_label

HOUR: Final = 3600.0
DAY: Final = 86400.0
_MARGIN: Final = timedelta(hours=39)
"""A day, and the farthest zone from UTC."""


class Record(NamedTuple):
    """Value of a file with its attributes, all as unparsed text.

    line    number in the file, from 1
    time    its label;  end: the label of its end where the file has both
    period  averaging period [s], NaN where neither row nor column gives it
    place   station with coordinates, None where the file has none
    fault   reason why the row is unusable, "" for a usable one
    """

    line: int
    station: str = ""
    parameter: str = ""
    value: str = ""
    unit: str = ""
    time: str = ""
    end: str = ""
    period: float = math.nan
    flag: str = ""
    fault: str = ""
    place: Station | None = None
    error: str = ""
    representativeness: str = ""


class FileOptions(NamedTuple):
    """Settings for information that a file does not contain.

    station    identifier of the station where no row has one; "" for the file's name
    parameter  of a file of one pollutant; "" for the file's name
    units      unit by pollutant where the file has none
    """

    station: str = ""
    parameter: str = ""
    units: Mapping[str, str] = {}

    def unit(self, parameter: str, default: str = "") -> str:
        """Return the given unit of a pollutant, else the default."""
        name = parameter_of(parameter)
        return next((unit for key, unit in self.units.items() if parameter_of(key) == name), default)


def first_line(file: TextFile) -> int:
    """Return the number, from 0, of the first line that is neither empty nor a comment behind #."""
    return next((number for number, cells in enumerate(file.head) if cells and cells[0][:1] != "#"), 0)


def names_of(file: TextFile) -> list[str]:
    """Return the cells of the first line that is neither empty nor a comment; none of an empty file."""
    return file.head[first_line(file)] if file.head else []


@dataclass(frozen=True)
class Layout:
    """A layout of station files.

    recognise   whether the content of a file has this layout
    read        yields the records of a file from a TableRows
    time        time convention, None where the user must give it
    time_of     time convention by the content of the file, if the layout does not fix it
    averaging   [s] where neither row nor column gives a period; NaN: the distance of its times
    flags       values of a flag that are valid; None: those of the selection
    columns     columns that identify it;  source: of the time convention;  units: all three for the documentation
    own         whether the table is written for a case, so that rows outside may be an error
    infers_period    whether periods are the distance of times; a given period overrides them
    zone_of_station  whether the zone in the station table has precedence
    """

    name: str
    recognise: Callable[[TextFile], bool]
    read: Callable[["TableRows", FileOptions], Iterator[Record]]
    time: TimeConvention | None
    averaging: float
    columns: str
    source: str
    units: str = "in each row"
    flags: frozenset[str] | None = None
    time_of: Callable[[TextFile], TimeConvention | None] | None = None
    own: bool = False
    infers_period: bool = False
    zone_of_station: bool = False


class TableRows:
    """Rows of a file with times that may lie in the window; other rows are counted, and their values are not read.

    file      file of the rows
    skipped   lines with a time outside the window, each with its number of values
    rejected  unreadable lines, each with the reason
    """

    def __init__(self, file: TextFile, observes: Callable[[str], bool], window: tuple[datetime, datetime]) -> None:
        self.file, self.observes, self.window = file, observes, window
        self.skipped: list[tuple[int, int]] = []
        self.rejected: list[tuple[int, str]] = []
        self._days: dict[str, datetime | None] = {}
        self._ends: tuple[tuple[datetime, str], ...] = ()

    def within(self, first: int, width: int, time: int, values: int = 1) -> Iterator[tuple[int, list[str]]]:
        """Yield the number and the cells of each line that may lie in the window.

        first   first line, from 0;  width  number of columns;  time  column of the time;  values  in each line
        """
        for line, cells in self.file.rows(first):
            if cells is None:
                self.rejected.append((line, "a quote is not closed"))
            elif len(cells) < width or (len(cells) > width and any(cells[width:])):
                self.rejected.append((line, f"{len(cells)} cells, but {width} columns"))
            elif self._may_count(cells[time]):
                yield line, cells
            else:
                self.skipped.append((line, values))

    @property
    def skipped_times(self) -> list[str]:
        """First and last time of the skipped rows, by day; empty if there are none."""
        return [text for _, text in self._ends]

    def _may_count(self, text: str) -> bool:
        """Return whether a time may lie in the window, whatever its zone, by its day alone."""
        key = text.strip(" '\"")[:10]
        if key not in self._days:
            label = read_label(key)
            self._days[key] = label.clock if label is not None else None
        day = self._days[key]
        if day is None or self.window[0] - _MARGIN <= day <= self.window[1] + _MARGIN:
            return True
        if not self._ends:
            self._ends = ((day, text), (day, text))
        elif day < self._ends[0][0]:
            self._ends = ((day, text), self._ends[1])
        elif day >= self._ends[1][0]:
            self._ends = (self._ends[0], (day, text))
        return False


class Columns:
    """Columns of a table by name, without regard to case; the first of several names has precedence."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self._folded = [" ".join(name.casefold().replace("_", " ").split()) for name in names]

    def find(self, *names: str) -> int:
        """Return the number of a column, -1 for a missing one."""
        for name in names:
            folded = " ".join(name.casefold().replace("_", " ").split())
            if folded in self._folded:
                return self._folded.index(folded)
        return -1

    def has(self, *names: str) -> bool:
        """Return whether the table has columns with all of these names."""
        return all(self.find(name) >= 0 for name in names)


def header_at(file: TextFile, *names: tuple[str, ...]) -> int:
    """Return the number, from 0, of the first line with a name of each group; -1 for none."""
    for number, cells in enumerate(file.head):
        if cells and (columns := Columns(cells)) and all(columns.find(*some) >= 0 for some in names):
            return number
    return -1


def pollutants_in(names: list[str]) -> dict[int, str]:
    """Return the columns that hold values of a pollutant: number -> name of the pollutant."""
    return {number: parameter_of(name) for number, name in enumerate(names) if is_pollutant(name)}


def distance_of_times(file: TextFile, first: int, column: int = 0) -> float:
    """Return the smallest distance [s] between the times of the first lines, a day for dates; NaN for a single time."""
    seen, dates = set(), True
    for number, cells in file.rows(first):
        label = read_label(cells[column]) if cells and column < len(cells) else None
        if label is not None:
            seen.add(label.clock - (label.offset or timedelta()))
            dates = dates and label.is_date
        if number > first + 200:
            break
    if seen and dates:
        return DAY
    times = sorted(seen)
    gaps = [(after - before).total_seconds() for before, after in pairwise(times)]
    return min(gaps, default=math.nan)


def period_in(text: str) -> float:
    """Return the averaging period [s] in a text such as "min30", "h1", "1 hour" or "day", NaN for none."""
    plain = text.strip().casefold()
    match = re.fullmatch(r"(min|h|d)(\d+)|(\d+)?[\s_-]*(minutes?|min|hours?|hr|h|days?|d)", plain)
    if match is None:
        return {"hourly": HOUR, "daily": DAY, "hour": HOUR, "day": DAY}.get(plain, math.nan)
    number = float(match[2] or match[3] or 1)
    return number * {"m": 60.0, "h": HOUR, "d": DAY}[(match[1] or match[4])[0]]
