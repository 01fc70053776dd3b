"""Tables with a column for each pollutant: those of openair, and others with a time convention from the user."""

import math
import re
from collections.abc import Iterator
from typing import Final

from airshed.observations.layouts.layout import (
    HOUR,
    Columns,
    FileOptions,
    Layout,
    Record,
    TableRows,
    distance_of_times,
    header_at,
)
from airshed.observations.parameters import is_pollutant, parameter_of, unit_in
from airshed.observations.station import Station, area_of, type_of
from airshed.observations.text_file import TextFile
from airshed.observations.time_convention import TimeConvention

_DATE: Final = ("date", "datetime", "datum", "time", "timestamp", "zeit", "date_time", "date time", "zeitpunkt",
                "fecha", "date utc")  # fmt: skip
_CLOCK: Final = ("time", "hour", "uhrzeit", "zeit", "heure", "hora")
_STATION: Final = ("code", "site", "station", "station_id", "siteid", "site_code", "station code", "stationscode",
                   "name")  # fmt: skip
_OPENAIR: Final = ("site", "code", "ws", "wd", "source", "site_type")
_NUMBERED: Final = re.compile(r"^(.*?)_(\d+)$")


def _values(names: list[str]) -> dict[int, tuple[str, str]]:
    """Return the columns of pollutants: number -> pollutant, and the suffix of a further station, such as "_2"."""
    found = {}
    for number, name in enumerate(names):
        match = _NUMBERED.match(name)
        if is_pollutant(name):
            found[number] = parameter_of(name), ""
        elif match and is_pollutant(match[1]):
            found[number] = parameter_of(match[1]), f"_{match[2]}"
    return found


def _header(file: TextFile) -> int:
    at = header_at(file, _DATE)
    is_wide = at >= 0 and _values(file.head[at]) and Columns(file.head[at]).find("value", "concentration") < 0
    return at if is_wide else -1


def _is_openair(file: TextFile) -> bool:
    at = _header(file)
    if at < 0:
        return False
    names = file.head[at]
    lower = all(names[number].islower() for number in _values(names))
    return "date" in names and lower and any(name in names for name in _OPENAIR)


def _place(cells: list[str], columns: Columns, station: str) -> Station | None:
    lon, lat = (columns.find(*names) for names in (("lon", "longitude"), ("lat", "latitude")))
    try:
        at = float(cells[lon]), float(cells[lat])
    except ValueError:
        return None
    kind = columns.find("site_type", "site type")
    text = cells[kind] if kind >= 0 else ""
    site = columns.find("site", "name")
    name = cells[site] if site >= 0 else ""
    return Station(station, name, *at, area=area_of(text), type=type_of(text))


def _read(rows: TableRows, options: FileOptions, units: dict[str, str]) -> Iterator[Record]:
    file = rows.file
    at = _header(file)
    names = file.head[at]
    columns, values = Columns(names), _values(names)
    date, clock, station = columns.find(*_DATE), columns.find(*_CLOCK), columns.find(*_STATION)
    clock = clock if clock != date else -1
    default = options.station or file.path.name.split(".")[0]
    has_place = columns.find("lon", "longitude") >= 0 and columns.find("lat", "latitude") >= 0
    period = distance_of_times(file, at + 1, date) if clock < 0 else HOUR
    places: dict[str, Station | None] = {}
    of = {n: unit_in(names[n]) or options.unit(p, units.get(p, units.get("", ""))) for n, (p, _) in values.items()}
    for line, cells in rows.within(at + 1, len(names), date, len(values)):
        who = (cells[station] if station >= 0 else "") or default
        if has_place and who not in places:
            places[who] = _place(cells, columns, who)
        label = f"{cells[date]} {cells[clock]}" if clock >= 0 else cells[date]
        for number, (name, suffix) in values.items():
            yield Record(line, who + suffix, name, cells[number], of[number], label, period=period,
                         place=places.get(who))  # fmt: skip


OPENAIR: Final = Layout(
    "openair", _is_openair, lambda rows, options: _read(rows, options, {"": "ug/m3", "CO": "mg/m3"}),
    TimeConvention("UTC", "start"), HOUR,
    columns="`date`, `site` or `code` (or `ws`, `wd`), a column in small letters for each pollutant",
    source="the import functions of openair: GMT, start of the hour",
    units="ug/m3, of CO mg/m3, as those functions return them", infers_period=True,
)  # fmt: skip

WIDE: Final = Layout(
    "wide table", lambda file: _header(file) >= 0, lambda rows, options: _read(rows, options, {}), None, math.nan,
    columns="a column of times, a column for each pollutant",
    source="to be given",
    units="in the names of the columns, or to be given", infers_period=True,
)  # fmt: skip
