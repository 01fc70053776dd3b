"""Summary of a file of observations: layout, time convention, averaging periods, units, and numbers of values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from airshed.core.report import Table
from airshed.observations.layouts.layout import DAY, HOUR
from airshed.observations.time_convention import TimeConvention


@dataclass
class FileSummary:
    """Layout, conventions and counts of one file.

    known    source of the time convention
    periods  averaging periods [s];  rows: values in the file;  used: values that became observations
    first    beginning of the first mean [s since the start of the window];  last: end of the last one
    """

    path: str
    layout: str
    convention: TimeConvention
    known: str
    periods: set[float] = field(default_factory=set)
    units: set[str] = field(default_factory=set)
    rows: int = 0
    used: int = 0
    first: float = math.inf
    last: float = -math.inf


def files_table(files: Sequence[FileSummary]) -> Table:
    """Return a table of the files that were read, with layout, time convention and averaging period."""
    columns = ("file", "layout", "zone", "label", "known by", "averaging", "units", "values", "used")
    rows = [
        (each.path, each.layout, each.convention.zone, each.convention.label, each.known,
         ", ".join(_duration(period) for period in sorted(each.periods)), ", ".join(sorted(each.units)),
         each.rows, each.used)
        for each in files
    ]  # fmt: skip
    return Table("Files of observations", columns, rows)


def _duration(seconds: float) -> str:
    for size, unit in ((DAY, "day"), (HOUR, "h"), (60.0, "min")):
        if seconds >= size and seconds % size == 0.0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
