"""Layout of the downloads of UK-AIR: the networks AURN and others of the United Kingdom."""

import math
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from airshed.observations.layouts.layout import DAY, HOUR, FileOptions, Layout, Record, TableRows
from airshed.observations.parameters import is_pollutant, parameter_of, unit_in
from airshed.observations.station import Station, area_of, type_of
from airshed.observations.text_file import TextFile
from airshed.observations.time_convention import TimeConvention

_STATUS: Final = "status"


class _Series(NamedTuple):
    """Columns of a pollutant: value, status and unit, -1 for none; its site, and its unit if no column has one."""

    value: int
    status: int
    unit: int
    parameter: str
    site: str
    default: str


def _header(file: TextFile) -> int:
    """Return the number of the line of names: Date, time, and a status behind each pollutant; -1 for none."""
    for number, cells in enumerate(file.head):
        names = [cell.casefold() for cell in cells]
        if len(names) > 2 and names[0] == "date" and _STATUS in names and any(map(is_pollutant, names)):
            return number
    return -1


def _banner(file: TextFile, *names: str) -> str:
    """Return the entry for a word such as Site Name in the lines before the column names, "" for none."""
    for cells in file.head[: _header(file)]:
        if len(cells) > 1 and cells[0].strip(": ").casefold() in names:
            return cells[1]
    return ""


def _sites(file: TextFile) -> list[str]:
    """Return the name of the site of each column: that above it or above a column before it, "" for none."""
    at = _header(file)
    lines = (cells for cells in reversed(file.head[:at]) if any(cells[2:]) and not any(cells[:2]))
    above: list[str] = next(lines, [])
    sites, site = [], ""
    for number in range(len(file.head[at])):
        site = (above[number] if 2 <= number < len(above) else "") or site
        sites.append(site)
    return sites


def _place(file: TextFile, site: str) -> Station | None:
    """Return the station with the coordinates before the column names, None if there are none."""
    try:
        lon, lat = float(_banner(file, "longitude")), float(_banner(file, "latitude"))
    except ValueError:
        return None
    kind = _banner(file, "site type", "environment type")
    return Station(site, site, lon, lat, area=area_of(kind), type=type_of(kind))


def _all_series(file: TextFile, options: FileOptions) -> list[_Series]:
    names = [cell.casefold() for cell in file.head[_header(file)]]
    sites, found = _sites(file), []
    for number, name in enumerate(names):
        if is_pollutant(name):
            behind = names[number + 1 : number + 3]
            status = number + 1 + behind.index(_STATUS) if _STATUS in behind else -1
            unit = number + 1 + behind.index("unit") if "unit" in behind else -1
            of = unit_in(name) or options.unit(name, "mg/m3" if parameter_of(name) == "CO" else "ug/m3")
            found.append(_Series(number, status, unit, parameter_of(name), sites[number], of))
    return found


def _read(rows: TableRows, options: FileOptions) -> Iterator[Record]:
    file = rows.file
    at = _header(file)
    has_time = file.head[at][1].casefold() == "time"
    single = options.station or _banner(file, "site name", "site") or file.path.name.split(".")[0].split("_")[0]
    place, every = _place(file, single), _all_series(file, options)
    for line, cells in rows.within(at + 1, len(file.head[at]), 0, len(every)):
        label = f"{cells[0]} {cells[1]}" if has_time else cells[0]
        for series in every:
            status = cells[series.status] if series.status >= 0 else ""
            unit = (unit_in(cells[series.unit]) if series.unit >= 0 else "") or unit_in(status) or series.default
            yield Record(
                line, series.site or single, series.parameter, cells[series.value], unit, label,
                period=HOUR if has_time else DAY, flag=re.split(r"[\s,;]", status, maxsplit=1)[0],
                place=None if series.site else place,
            )  # fmt: skip


def _time_of(file: TextFile) -> TimeConvention:
    start = any("hour beginning" in line.casefold() for line in file.lines[: max(_header(file), 0)])
    return TimeConvention("UTC", "start" if start else "end")


LAYOUT: Final = Layout(
    "UK-AIR", lambda file: _header(file) >= 0, _read, TimeConvention("UTC", "end"), math.nan,
    columns="`Date`, `time`, behind each pollutant `status` and `unit`; the site in a line above, or in the name of "
    "the file",
    source="UK-AIR: GMT, hour ending, 24:00 is the end of a day; a date alone is a day in GMT",
    units="in each row, else ug/m3, of CO mg/m3",
    flags=frozenset({"", "r", "v", "p", "p*", "n"}), time_of=_time_of,
)  # fmt: skip
"""Status R or V: ratified, P: provisional, N: not verified; S, suspect, is rejected."""
