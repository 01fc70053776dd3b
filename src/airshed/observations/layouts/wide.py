"""Tables with a column for each pollutant or series: plain ones, openair, UBA, UK-AIR, Ostluft and AirBase."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from airshed.core.errors import DataError
from airshed.observations.layouts.layout import (
    DAY,
    HOUR,
    Columns,
    FileOptions,
    Layout,
    Record,
    TableRows,
    distance_of_times,
    first_line,
    header_at,
    period_in,
    pollutants_in,
)
from airshed.observations.parameters import is_pollutant, parameter_of, unit_in
from airshed.observations.station import Station, area_of, type_of
from airshed.observations.text_file import TextFile
from airshed.observations.time_convention import TimeConvention, read_label

_DATE: Final = ("date", "datetime", "datum", "time", "timestamp", "zeit", "date_time", "date time", "zeitpunkt",
                "fecha", "date utc")  # fmt: skip
_CLOCK: Final = ("time", "hour", "uhrzeit", "zeit", "heure", "hora")
_STATION: Final = ("code", "site", "station", "station_id", "siteid", "site_code", "station code", "stationscode",
                   "name")  # fmt: skip
_OPENAIR: Final = ("site", "code", "ws", "wd", "source", "site_type")
_NUMBERED: Final = re.compile(r"^(.*?)_(\d+)$")


def _wide_values(names: list[str]) -> dict[int, tuple[str, str]]:
    """Return the columns of pollutants: number -> pollutant, and the suffix of a further station, such as "_2"."""
    found = {}
    for number, name in enumerate(names):
        match = _NUMBERED.match(name)
        if is_pollutant(name):
            found[number] = parameter_of(name), ""
        elif match and is_pollutant(match[1]):
            found[number] = parameter_of(match[1]), f"_{match[2]}"
    return found


def _wide_header(file: TextFile) -> int:
    at = header_at(file, _DATE)
    is_wide = at >= 0 and _wide_values(file.head[at]) and Columns(file.head[at]).find("value", "concentration") < 0
    return at if is_wide else -1


def _is_openair(file: TextFile) -> bool:
    at = _wide_header(file)
    if at < 0:
        return False
    names = file.head[at]
    lower = all(names[number].islower() for number in _wide_values(names))
    return "date" in names and lower and any(name in names for name in _OPENAIR)


def _wide_place(cells: list[str], columns: Columns, station: str) -> Station | None:
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


def _read_wide(rows: TableRows, options: FileOptions, units: dict[str, str]) -> Iterator[Record]:
    file = rows.file
    at = _wide_header(file)
    names = file.head[at]
    columns, values = Columns(names), _wide_values(names)
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
            places[who] = _wide_place(cells, columns, who)
        label = f"{cells[date]} {cells[clock]}" if clock >= 0 else cells[date]
        for number, (name, suffix) in values.items():
            yield Record(line, who + suffix, name, cells[number], of[number], label, period=period,
                         place=places.get(who))  # fmt: skip


OPENAIR: Final = Layout(
    "openair", _is_openair, lambda rows, options: _read_wide(rows, options, {"": "ug/m3", "CO": "mg/m3"}),
    TimeConvention("UTC", "start"), HOUR,
    columns="`date`, `site` or `code` (or `ws`, `wd`), a column in small letters for each pollutant",
    source="the import functions of openair: GMT, start of the hour",
    units="ug/m3, of CO mg/m3, as those functions return them", infers_period=True,
)  # fmt: skip

WIDE: Final = Layout(
    "wide table", lambda file: _wide_header(file) >= 0, lambda rows, options: _read_wide(rows, options, {}), None,
    math.nan,
    columns="a column of times, a column for each pollutant",
    source="to be given",
    units="in the names of the columns, or to be given", infers_period=True,
)  # fmt: skip


# The air data portal of the German Umweltbundesamt (UBA).


_UBA_STATION: Final = ("Station code", "Stationscode", "Stationskennung")
_UBA_DATE: Final = ("Date", "Datum")
_UBA_TIME: Final = ("Time", "Uhrzeit", "Zeit")
_UBA_VALUE: Final = ("Messwert", "Measured value", "Value")
_UBA_POLLUTANT: Final = ("Komponente", "Pollutant", "Luftschadstoff", "Component", "Schadstoff")
_UBA_IN_NAME: Final = re.compile(r"DE[A-Z]{2}\d{3}", re.IGNORECASE)
_UBA_MEAN: Final = re.compile(r"average|mean|mittel", re.IGNORECASE)
_UBA_MAXIMUM: Final = re.compile(r"maxim", re.IGNORECASE)


def _uba_header(file: TextFile) -> int:
    """Return the number of the line of names, -1 for a file of another layout."""
    at = header_at(file, _UBA_DATE)
    if at < 0:
        return -1
    names = file.head[at]
    means = [number for number in pollutants_in(names) if _UBA_MEAN.search(names[number])]
    long = Columns(names).find(*_UBA_VALUE) >= 0
    has_station = Columns(names).find(*_UBA_STATION) >= 0
    return at if means or (has_station and (long or pollutants_in(names))) else -1


def _uba_period(name: str) -> float:
    folded = name.casefold()
    if re.search(r"eight|acht|8.(hour|stunden)", folded):
        return 8.0 * HOUR
    return DAY if re.search(r"daily|tages|24.(hour|stunden)|day", folded) else HOUR


def _read_uba(rows: TableRows, options: FileOptions) -> Iterator[Record]:
    at = _uba_header(rows.file)
    names = rows.file.head[at]
    columns, station = Columns(names), Columns(names).find(*_UBA_STATION)
    date, time = columns.find(*_UBA_DATE), columns.find(*_UBA_TIME)
    in_name = _UBA_IN_NAME.search(rows.file.path.name)
    default = options.station or (in_name[0].upper() if in_name else rows.file.path.name.split(".")[0])
    values = _uba_series(names, options)
    for line, cells in rows.within(at + 1, len(names), date, len(values)):
        place = (cells[station] if station >= 0 else "") or default
        label = f"{cells[date]} {cells[time]}" if time >= 0 else cells[date]
        for number, name, unit, period in values:
            yield Record(line, place, name or cells[columns.find(*_UBA_POLLUTANT)], cells[number], unit, label,
                         period=period)  # fmt: skip


def _uba_series(names: list[str], options: FileOptions) -> list[tuple[int, str, str, float]]:
    """Return column, pollutant ("": in a column of its own), unit and period of the values of a line.

    If a pollutant has several averaging periods, the shortest one is used.
    """
    value = Columns(names).find(*_UBA_VALUE)
    if value >= 0:
        what = "" if Columns(names).find(*_UBA_POLLUTANT) >= 0 else options.parameter
        return [(value, what, unit_in(names[value]) or options.unit(what, "ug/m3"), _uba_period(names[value]))]
    found = []
    for number, name in pollutants_in(names).items():
        if not _UBA_MAXIMUM.search(names[number]):
            unit = unit_in(names[number]) or options.unit(name, "mg/m3" if name == "CO" else "ug/m3")
            found.append((number, name, unit, _uba_period(names[number])))
    shortest = {name: min(each[3] for each in found if each[1] == name) for _, name, *_ in found}
    return [each for each in found if each[3] == shortest[each[1]]]


UBA: Final = Layout(
    "UBA", lambda file: _uba_header(file) >= 0, _read_uba, TimeConvention("Europe/Berlin", "end"), HOUR,
    columns="`Station code` or `Stationscode`, `Date` or `Datum` (and `Uhrzeit`), a column for each pollutant whose "
    "name has its mean, such as `Ozone (O₃) One hour average in µg/m³`",
    source="24:00 is the last label of a day; on the last Sunday of March 03:00 is missing, in October it comes twice",
    units="in the names of the columns",
)  # fmt: skip


# Downloads of UK-AIR: the networks AURN and others of the United Kingdom.


_STATUS: Final = "status"


class _AurnSeries(NamedTuple):
    """Columns of a pollutant: value, status and unit, -1 for none; its site, and its unit if no column has one."""

    value: int
    status: int
    unit: int
    parameter: str
    site: str
    default: str


def _aurn_header(file: TextFile) -> int:
    """Return the number of the line of names: Date, time, and a status behind each pollutant; -1 for none."""
    for number, cells in enumerate(file.head):
        names = [cell.casefold() for cell in cells]
        if len(names) > 2 and names[0] == "date" and _STATUS in names and any(map(is_pollutant, names)):
            return number
    return -1


def _aurn_banner(file: TextFile, *names: str) -> str:
    """Return the entry for a word such as Site Name in the lines before the column names, "" for none."""
    for cells in file.head[: _aurn_header(file)]:
        if len(cells) > 1 and cells[0].strip(": ").casefold() in names:
            return cells[1]
    return ""


def _aurn_sites(file: TextFile) -> list[str]:
    """Return the name of the site of each column: that above it or above a column before it, "" for none."""
    at = _aurn_header(file)
    lines = (cells for cells in reversed(file.head[:at]) if any(cells[2:]) and not any(cells[:2]))
    above: list[str] = next(lines, [])
    sites, site = [], ""
    for number in range(len(file.head[at])):
        site = (above[number] if 2 <= number < len(above) else "") or site
        sites.append(site)
    return sites


def _aurn_place(file: TextFile, site: str) -> Station | None:
    """Return the station with the coordinates before the column names, None if there are none."""
    try:
        lon, lat = float(_aurn_banner(file, "longitude")), float(_aurn_banner(file, "latitude"))
    except ValueError:
        return None
    kind = _aurn_banner(file, "site type", "environment type")
    return Station(site, site, lon, lat, area=area_of(kind), type=type_of(kind))


def _aurn_series(file: TextFile, options: FileOptions) -> list[_AurnSeries]:
    names = [cell.casefold() for cell in file.head[_aurn_header(file)]]
    sites, found = _aurn_sites(file), []
    for number, name in enumerate(names):
        if is_pollutant(name):
            behind = names[number + 1 : number + 3]
            status = number + 1 + behind.index(_STATUS) if _STATUS in behind else -1
            unit = number + 1 + behind.index("unit") if "unit" in behind else -1
            of = unit_in(name) or options.unit(name, "mg/m3" if parameter_of(name) == "CO" else "ug/m3")
            found.append(_AurnSeries(number, status, unit, parameter_of(name), sites[number], of))
    return found


def _read_aurn(rows: TableRows, options: FileOptions) -> Iterator[Record]:
    file = rows.file
    at = _aurn_header(file)
    has_time = file.head[at][1].casefold() == "time"
    single = options.station or _aurn_banner(file, "site name", "site") or file.path.name.split(".")[0].split("_")[0]
    place, every = _aurn_place(file, single), _aurn_series(file, options)
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


def _aurn_time(file: TextFile) -> TimeConvention:
    start = any("hour beginning" in line.casefold() for line in file.lines[: max(_aurn_header(file), 0)])
    return TimeConvention("UTC", "start" if start else "end")


AURN: Final = Layout(
    "UK-AIR", lambda file: _aurn_header(file) >= 0, _read_aurn, TimeConvention("UTC", "end"), math.nan,
    columns="`Date`, `time`, behind each pollutant `status` and `unit`; the site in a line above, or in the name of "
    "the file",
    source="UK-AIR: GMT, hour ending, 24:00 is the end of a day; a date alone is a day in GMT",
    units="in each row, else ug/m3, of CO mg/m3",
    flags=frozenset({"", "r", "v", "p", "p*", "n"}), time_of=_aurn_time,
)  # fmt: skip
"""Status R or V: ratified, P: provisional, N: not verified; S, suspect, is rejected."""


# Ostluft, the network of the eastern Swiss cantons: a column for each series under lines of names.


class _OstluftHead(NamedTuple):
    """The lines of names: number of the first line of values, and column, station, pollutant, unit, period."""

    first: int
    series: list[tuple[int, str, str, str, float]]


def _ostluft_head(file: TextFile) -> _OstluftHead | None:
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
    return _OstluftHead(first, sorted(once.values())) if series else None


def _read_ostluft(rows: TableRows, options: FileOptions) -> Iterator[Record]:
    head = _ostluft_head(rows.file)
    assert head is not None
    width = len(rows.file.head[head.first - 1])
    for line, cells in rows.within(head.first, width, 0, len(head.series)):
        for number, station, parameter, unit, period in head.series:
            yield Record(line, station, parameter, cells[number], unit, cells[0], period=period)


OSTLUFT: Final = Layout(
    "Ostluft", lambda file: _ostluft_head(file) is not None, _read_ostluft, TimeConvention("UTC+01:00", "start"),
    math.nan,
    columns="a column for each series under lines of names: station, pollutant, interval such as `min30`, unit "
    "(`Zeit` or `Startzeit`)",
    source="Etc/GMT-1 and start of the interval in the package rOstluft",
    units="a line of names",
)  # fmt: skip


# AirBase: a line for each day with 24 pairs of value and flag.


_HOURS: Final = 24
_RAW: Final = re.compile(r"([A-Z]{2}[0-9A-Z]{5})(\d{5})\d{5}(hour|day|var)", re.IGNORECASE)
"""Station, code of the pollutant, number of the instrument, and the period, in the names of AirBase files."""
_AIRBASE_STATION: Final = re.compile(r"[A-Z]{2}[0-9A-Z]{4,5}")


def _is_airbase_day(cells: list[str]) -> bool:
    label = read_label(cells[0]) if cells else None
    return label is not None and label.is_date and 2 * _HOURS + 1 <= len(cells) <= 2 * _HOURS + 2


def _first_day(file: TextFile) -> int:
    """Return the number of the first line of values, 0 or 1; -1 for a file of another layout."""
    at = first_line(file)
    return next((n for n in (at, at + 1) if n < len(file.head) and _is_airbase_day(file.head[n])), -1)


def _airbase_identity(file: TextFile, options: FileOptions) -> tuple[str, str]:
    """Return station and pollutant, from the name of the file; raises DataError for a name without them."""
    name = file.path.name
    raw = _RAW.match(name)
    if raw:
        return options.station or raw[1].upper(), options.parameter or parameter_of(raw[2].lstrip("0"))
    words = [word for word in re.split(r"[_.\s-]", name) if word]
    station = options.station or next((word for word in words if _AIRBASE_STATION.fullmatch(word)), "")
    parameter = options.parameter or next((parameter_of(word) for word in words if is_pollutant(word)), "")
    if not station or not parameter:
        raise DataError(
            f"{file.path} is an AirBase file without station and pollutant in its name; name it as AirBase does "
            f"(BETR8010000800100hour...), or with both (BETR801_NO2.tsv)"
        )
    return station, parameter


def _read_airbase(rows: TableRows, options: FileOptions) -> Iterator[Record]:
    station, parameter = _airbase_identity(rows.file, options)
    unit = options.unit(parameter, "mg/m3" if parameter == "CO" else "ug/m3")
    for line, cells in rows.within(_first_day(rows.file), 2 * _HOURS + 1, 0, _HOURS):
        for hour in range(_HOURS):
            value, flag = cells[1 + 2 * hour], cells[2 + 2 * hour]
            yield Record(line, station, parameter, value, unit, f"{cells[0]} {hour:02d}:00", period=HOUR, flag=flag)


AIRBASE: Final = Layout(
    "AirBase", lambda file: _first_day(file) >= 0, _read_airbase, TimeConvention("UTC+01:00", "start"), HOUR,
    columns="a date and 24 pairs of value and flag, divided by tabs; station and pollutant in the name of the file",
    source="AirBase: standard time of the station, by the column timezone of its table, else UTC+1; start of the hour",
    units="ug/m3, of CO mg/m3",
    flags=frozenset(str(flag) for flag in range(1, 10)), zone_of_station=True,
)  # fmt: skip
"""A flag above 0 is valid."""
