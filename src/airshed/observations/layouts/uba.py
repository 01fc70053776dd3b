"""Layout of the air data portal of the German Umweltbundesamt (UBA)."""

import re
from collections.abc import Iterator
from typing import Final

from airshed.observations.layouts.layout import (
    DAY,
    HOUR,
    Columns,
    FileOptions,
    Layout,
    Record,
    TableRows,
    header_at,
    pollutants_in,
)
from airshed.observations.parameters import unit_in
from airshed.observations.text_file import TextFile
from airshed.observations.time_convention import TimeConvention

_STATION: Final = ("Station code", "Stationscode", "Stationskennung")
_DATE: Final = ("Date", "Datum")
_TIME: Final = ("Time", "Uhrzeit", "Zeit")
_VALUE: Final = ("Messwert", "Measured value", "Value")
_POLLUTANT: Final = ("Komponente", "Pollutant", "Luftschadstoff", "Component", "Schadstoff")
_IN_NAME: Final = re.compile(r"DE[A-Z]{2}\d{3}", re.IGNORECASE)
_MEAN: Final = re.compile(r"average|mean|mittel", re.IGNORECASE)
_MAXIMUM: Final = re.compile(r"maxim", re.IGNORECASE)


def _header(file: TextFile) -> int:
    """Return the number of the line of names, -1 for a file of another layout."""
    at = header_at(file, _DATE)
    if at < 0:
        return -1
    names = file.head[at]
    means = [number for number in pollutants_in(names) if _MEAN.search(names[number])]
    long = Columns(names).find(*_VALUE) >= 0
    has_station = Columns(names).find(*_STATION) >= 0
    return at if means or (has_station and (long or pollutants_in(names))) else -1


def _period(name: str) -> float:
    folded = name.casefold()
    if re.search(r"eight|acht|8.(hour|stunden)", folded):
        return 8.0 * HOUR
    return DAY if re.search(r"daily|tages|24.(hour|stunden)|day", folded) else HOUR


def _read(rows: TableRows, options: FileOptions) -> Iterator[Record]:
    at = _header(rows.file)
    names = rows.file.head[at]
    columns, station = Columns(names), Columns(names).find(*_STATION)
    date, time = columns.find(*_DATE), columns.find(*_TIME)
    in_name = _IN_NAME.search(rows.file.path.name)
    default = options.station or (in_name[0].upper() if in_name else rows.file.path.name.split(".")[0])
    values = _series(names, options)
    for line, cells in rows.within(at + 1, len(names), date, len(values)):
        place = (cells[station] if station >= 0 else "") or default
        label = f"{cells[date]} {cells[time]}" if time >= 0 else cells[date]
        for number, name, unit, period in values:
            yield Record(line, place, name or cells[columns.find(*_POLLUTANT)], cells[number], unit, label,
                         period=period)  # fmt: skip


def _series(names: list[str], options: FileOptions) -> list[tuple[int, str, str, float]]:
    """Return column, pollutant ("": in a column of its own), unit and period of the values of a line.

    If a pollutant has several averaging periods, the shortest one is used.
    """
    value = Columns(names).find(*_VALUE)
    if value >= 0:
        what = "" if Columns(names).find(*_POLLUTANT) >= 0 else options.parameter
        return [(value, what, unit_in(names[value]) or options.unit(what, "ug/m3"), _period(names[value]))]
    found = []
    for number, name in pollutants_in(names).items():
        if not _MAXIMUM.search(names[number]):
            unit = unit_in(names[number]) or options.unit(name, "mg/m3" if name == "CO" else "ug/m3")
            found.append((number, name, unit, _period(names[number])))
    shortest = {name: min(each[3] for each in found if each[1] == name) for _, name, *_ in found}
    return [each for each in found if each[3] == shortest[each[1]]]


LAYOUT: Final = Layout(
    "UBA", lambda file: _header(file) >= 0, _read, TimeConvention("Europe/Berlin", "end"), HOUR,
    columns="`Station code` or `Stationscode`, `Date` or `Datum` (and `Uhrzeit`), a column for each pollutant whose "
    "name has its mean, such as `Ozone (O₃) One hour average in µg/m³`",
    source="24:00 is the last label of a day; on the last Sunday of March 03:00 is missing, in October it comes twice",
    units="in the names of the columns",
)  # fmt: skip
