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
    header_at,
    pollutants_in,
    wrong_length,
)
from airshed.observations.parameters import unit_in
from airshed.observations.text_file import TextFile
from airshed.observations.time_convention import TimeConvention

_STATION: Final = ("Station code", "Stationscode", "Stationskennung")
_DATE: Final = ("Date", "Datum")
_TIME: Final = ("Time", "Uhrzeit", "Zeit")
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
    long = Columns(names).find("Messwert", "Measured value", "Value") >= 0
    has_station = Columns(names).find(*_STATION) >= 0
    return at if means or (has_station and (long or pollutants_in(names))) else -1


def _period(name: str) -> float:
    folded = name.casefold()
    if re.search(r"eight|acht|8.(hour|stunden)", folded):
        return 8.0 * HOUR
    return DAY if re.search(r"daily|tages|24.(hour|stunden)|day", folded) else HOUR


def _read(file: TextFile, options: FileOptions) -> Iterator[Record]:
    at = _header(file)
    names = file.head[at]
    columns, values = Columns(names), {n: p for n, p in pollutants_in(names).items() if not _MAXIMUM.search(names[n])}
    station, date, time = columns.find(*_STATION), columns.find(*_DATE), columns.find(*_TIME)
    long = columns.find("Messwert", "Measured value", "Value")
    what = columns.find("Komponente", "Pollutant", "Luftschadstoff", "Component", "Schadstoff")
    unit = columns.find("Einheit", "Unit")
    in_name = _IN_NAME.search(file.path.name)
    default = options.station or (in_name[0].upper() if in_name else file.path.name.split(".")[0])
    for line, cells in file.rows(at + 1):
        wrong = wrong_length(line, cells, len(names))
        if wrong or cells is None:
            yield wrong or Record(line)
            continue
        place = (cells[station] if station >= 0 else "") or default
        label = f"{cells[date]} {cells[time]}" if time >= 0 else cells[date]
        if long >= 0:
            kind = cells[what] if what >= 0 else options.parameter
            of = (cells[unit] if unit >= 0 else "") or unit_in(names[long]) or "ug/m3"
            yield Record(line, place, kind, cells[long], of, label)
            continue
        for number, name in values.items():
            of = unit_in(names[number]) or options.unit(name, "mg/m3" if name == "CO" else "ug/m3")
            yield Record(line, place, name, cells[number], of, label, period=_period(names[number]))


LAYOUT: Final = Layout(
    "UBA", lambda file: _header(file) >= 0, _read, TimeConvention("Europe/Berlin", "end"), HOUR,
    columns="`Station code` or `Stationscode`, `Date` or `Datum` (and `Uhrzeit`), a column for each pollutant whose "
    "name has its mean, such as `Ozone (O₃) One hour average in µg/m³`",
    source="24:00 is the last label of a day; on the last Sunday of March 03:00 is missing, in October it comes twice",
    units="in the names of the columns",
)  # fmt: skip
