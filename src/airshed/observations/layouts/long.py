"""Tables with a row for each value: our own, and those of OpenAQ, the EEA and pyaro."""

import math
from collections.abc import Iterator, Mapping
from typing import Final

from airshed.core.errors import CaseError, DataError
from airshed.core.units import to
from airshed.observations.layouts.layout import (
    HOUR,
    Columns,
    FileOptions,
    Layout,
    Record,
    TableRows,
    first_line,
    names_of,
    period_in,
)
from airshed.observations.parameters import unit_in
from airshed.observations.station import Station, area_of, type_of
from airshed.observations.text_file import TextFile
from airshed.observations.time_convention import TimeConvention, read_label

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "station": ("station", "location_id", "locationId", "AirQualityStationEoICode", "station_code", "AirQualityStation",
                "Samplingpoint", "location", "siteid", "site"),
    "lon": ("lon", "longitude", "samplingpoint_x"),
    "lat": ("lat", "latitude", "latitue", "samplingpoint_y"),
    "species": ("species", "parameter", "AirPollutant", "pollutant", "variable"),
    "value": ("value", "Concentration", "value_numeric"),
    "unit": ("unit", "units", "UnitOfMeasurement", "value_unit"),
    "time": ("time", "datetime", "utc", "date_utc", "datetimeUtc", "DatetimeEnd", "starttime"),
    "averaging": ("averaging", "period", "interval"),
    "error": ("error", "standard_deviation"),
    "representativeness": ("representativeness",),
    "flag": ("flag", "qc_flag", "qc", "validity", "value_validity", "status"),
}  # fmt: skip
"""Quantity -> names of its column, without regard to case; the first one found is used.

Names of Airshed, of OpenAQ and of the European Environment Agency.
"""
_UTC: Final = ("utc", "date_utc", "datetimeutc")
_OPTIONAL: Final = frozenset({"lon", "lat", "averaging", "error", "representativeness", "flag", "unit"})
_BEGIN: Final = ("start_time", "DatetimeBegin", "value_datetime_begin", "start", "begin")
_END: Final = ("end_time", "DatetimeEnd", "value_datetime_end", "end")


def table_columns(file: TextFile, names: list[str], *, optional: frozenset[str] = _OPTIONAL) -> dict[str, int]:
    """Return the numbers of the columns of a long table; raises DataError for one that is missing."""
    columns = Columns(names)
    found = {what: columns.find(*spellings) for what, spellings in COLUMNS.items()}
    found["begin"], found["until"] = columns.find(*_BEGIN), columns.find(*_END)
    if found["begin"] >= 0 and found["until"] >= 0:
        found["time"] = found["begin"]
    if found["value"] < 0:  # a column named by its unit, such as ugm3
        found["value"] = next((number for number, name in enumerate(names) if unit_in(name)), -1)
    if found["time"] < 0:
        found["time"] = next((n for n, name in enumerate(names) if name.casefold().startswith(("time", "date"))), -1)
    missing = [what for what in COLUMNS if found[what] < 0 and what not in optional]
    if (found["lon"] < 0) != (found["lat"] < 0):
        missing.append("lon" if found["lon"] < 0 else "lat")
    if missing:
        spelt = " or ".join(COLUMNS[missing[0]])
        raise DataError(f"{file.path} lacks the column {spelt}; it has {', '.join(names)[:200]}")
    return found


def read_long(
    rows: TableRows, options: FileOptions, names: list[str], first: int, columns: Mapping[str, int]
) -> Iterator[Record]:
    """Yield the records of a table with a row for each value and these columns."""
    file = rows.file
    both = columns["begin"] >= 0 and columns["until"] >= 0
    places: dict[tuple[str, str, str], Station | str] = {}
    about, default = Columns(names), unit_in(names[columns["value"]])
    for line, cells in rows.within(first, len(names), columns["time"]):

        def text(what: str, cells: list[str] = cells) -> str:
            return cells[columns[what]] if columns[what] >= 0 else ""

        key = (text("station"), text("lon"), text("lat"))
        if key not in places:
            places[key] = _place(file, cells, key, about) if columns["lon"] >= 0 else ""
        place = places[key]
        period, fault = _period(text("averaging"))
        fault = next((f"{what} is empty; write one, or remove the line" for what in ("station", "species")
                      if not text(what)), fault)  # fmt: skip
        yield Record(
            line, key[0], text("species"), text("value"), text("unit") or default or options.unit(text("species")),
            cells[columns["time"]], cells[columns["until"]] if both else "", period, text("flag"),
            fault or (place if isinstance(place, str) else ""), place if isinstance(place, Station) else None,
            text("error"), text("representativeness"),
        )  # fmt: skip


def _place(file: TextFile, cells: list[str], key: tuple[str, str, str], about: Columns) -> Station | str:
    """Return the station of a row, "" for a row without coordinates, or a message about invalid coordinates."""
    if not key[1] and not key[2]:
        return ""
    numbers = []
    for what, text in (("lon", key[1]), ("lat", key[2])):
        try:
            numbers.append(float(file.number_text(text)))
        except ValueError:
            return f"{what} {text[:40]!r} is not a number"

    def cell(*names: str) -> str:
        at = about.find(*names)
        return cells[at] if at >= 0 else ""

    altitude = cell("altitude", "elevation")
    kind = cell("site_type", "station_type", "type", "area_classification")
    try:
        height = float(file.number_text(altitude))
    except ValueError:
        height = math.nan
    name = cell("location", "name", "site_name", "station_name")
    lon, lat = numbers
    return Station(key[0], name, lon, lat, height, area_of(cell("area", "area_classification") or kind), type_of(kind))


def _period(text: str) -> tuple[float, str]:
    """Return the averaging period of a row [s], NaN for none; and a fault, "" for none."""
    if not text or period_in(text) > 0.0:
        return period_in(text), ""
    try:
        period = to(text, "s", where="averaging")
    except CaseError as error:
        return math.nan, str(error)
    return period, f"averaging is {period:g} s; give 0 s for an instant, or more for a mean" if period < 0 else ""


def _is_long(file: TextFile) -> bool:
    names = Columns(names_of(file))
    return names.find(*COLUMNS["value"]) >= 0 or names.find(*COLUMNS["station"]) >= 0


def read_table(rows: TableRows, options: FileOptions) -> Iterator[Record]:
    """Yield the records of a table with names in its first line."""
    at = first_line(rows.file)
    names = rows.file.head[at]
    return read_long(rows, options, names, at + 1, table_columns(rows.file, names))


def _time_of(file: TextFile) -> TimeConvention:
    """Return the convention of a long table: an offset in each row, or UTC by the name of a column."""
    names = names_of(file)
    columns = table_columns(file, names)
    both = columns["begin"] >= 0 and columns["until"] >= 0
    name = names[columns["time"]].casefold()
    label = "start" if name.startswith(("start", "begin")) else "end"
    return TimeConvention("UTC" if name in _UTC else "file", "start and end" if both else label)


def _is_openaq(file: TextFile) -> bool:
    names = Columns(names_of(file))
    return names.find("location_id", "locationId") >= 0 and names.has("parameter", "value")


OPENAQ: Final = Layout(
    "OpenAQ", _is_openaq, read_table, TimeConvention("file", "end"), HOUR,
    columns="`location_id`, `datetime`, `lat`, `lon`, `parameter`, `units`, `value`",
    source="OpenAQ: the time is the end of the mean, with its offset", time_of=_time_of,
)  # fmt: skip

OWN: Final = Layout(
    "Airshed", _is_long, read_table, TimeConvention("file", "end"), HOUR,
    columns="`station`, `lon`, `lat`, `species`, `value`, `unit`, `time`",
    source="its definition: the end of the mean, with an offset in each row", time_of=_time_of, own=True,
)  # fmt: skip


# The e-Reporting of the European Environment Agency (EEA), as CSV.


_EEA_INTERVAL: Final = (
    ("DatetimeBegin", "DatetimeEnd"),
    ("value_datetime_begin", "value_datetime_end"),
    ("Start", "End"),
)
_EEA_VALIDITY: Final = ("Validity", "value_validity")
_EEA_TIME: Final = TimeConvention("UTC+01:00", "start and end")


def _is_eea(file: TextFile) -> bool:
    columns = Columns(names_of(file))
    return columns.find(*_EEA_VALIDITY) >= 0 and any(columns.has(*pair) for pair in _EEA_INTERVAL)


def _eea_time(file: TextFile) -> TimeConvention | None:
    """Return the convention: UTC+1, of other means than hourly ones only where each row has its offset."""
    columns = Columns(names_of(file))
    averaging, begin = columns.find("AveragingTime", "AggType"), columns.find(*(pair[0] for pair in _EEA_INTERVAL))
    for cells in file.head[first_line(file) + 1 :]:
        if len(cells) <= max(averaging, begin):
            continue
        label = read_label(cells[begin])
        hourly = averaging < 0 or cells[averaging].casefold() in ("", "hour", "hourly")
        if label is not None:
            return _EEA_TIME if hourly or label.offset is not None else None
    return _EEA_TIME


EEA: Final = Layout(
    "EEA", _is_eea, read_table, _EEA_TIME, HOUR,
    columns="`AirQualityStationEoICode` or `Samplingpoint`, `AirPollutant`, `Concentration`, `DatetimeBegin` and "
    "`DatetimeEnd` (or `Start` and `End`), `Validity`",
    source="EEA: hourly data are in UTC+1; daily ones need an offset in each row",
    flags=frozenset({"1", "2", "3"}), time_of=_eea_time,
)  # fmt: skip
"""Validity 2 and 3 are valid values below the detection limit; -1 and -99 are not valid."""


# The CSV reader of pyaro, the input of pyaerocom.


_PYARO_COLUMNS: Final = ["variable", "station", "longitude", "latitude", "value", "units", "start_time", "end_time"]
"""The columns of a file without a line of names, in this order."""


def _has_pyaro_names(file: TextFile) -> bool:
    return Columns(names_of(file)).has("variable", "station", "value", "start_time", "end_time")


def _is_pyaro(file: TextFile) -> bool:
    if _has_pyaro_names(file):
        return True
    cells = names_of(file)
    if len(cells) < len(_PYARO_COLUMNS) or not (read_label(cells[6]) and read_label(cells[7])):
        return False
    try:
        float(cells[2])
    except ValueError:
        return False
    return True


def _read_pyaro(rows: TableRows, options: FileOptions) -> Iterator[Record]:
    at, has_names = first_line(rows.file), _has_pyaro_names(rows.file)
    cells = rows.file.head[at]
    names = cells if has_names else [*_PYARO_COLUMNS, *(f"column {n}" for n in range(len(_PYARO_COLUMNS), len(cells)))]
    yield from read_long(rows, options, names, at + has_names, table_columns(rows.file, names))


PYARO: Final = Layout(
    "pyaro", _is_pyaro, _read_pyaro, TimeConvention("UTC", "start and end"), HOUR,
    columns="`variable`, `station`, `longitude`, `latitude`, `value`, `units`, `start_time`, `end_time`, also without "
    "a line of names",
    source="pyaro: start and end of each mean, in UTC", flags=frozenset({"", "0", "valid"}),
)  # fmt: skip
