"""Layout of AirBase: a line for each day with 24 pairs of value and flag."""

import re
from collections.abc import Iterator
from typing import Final

from airshed.core.errors import DataError
from airshed.observations.layouts.layout import HOUR, FileOptions, Layout, Record, TableRows, first_line
from airshed.observations.parameters import is_pollutant, parameter_of
from airshed.observations.text_file import TextFile
from airshed.observations.time_convention import TimeConvention, read_label

_HOURS: Final = 24
_RAW: Final = re.compile(r"([A-Z]{2}[0-9A-Z]{5})(\d{5})\d{5}(hour|day|var)", re.IGNORECASE)
"""Station, code of the pollutant, number of the instrument, and the period, in the names of AirBase files."""
_STATION: Final = re.compile(r"[A-Z]{2}[0-9A-Z]{4,5}")


def _is_day(cells: list[str]) -> bool:
    label = read_label(cells[0]) if cells else None
    return label is not None and label.is_date and 2 * _HOURS + 1 <= len(cells) <= 2 * _HOURS + 2


def _first(file: TextFile) -> int:
    """Return the number of the first line of values, 0 or 1; -1 for a file of another layout."""
    at = first_line(file)
    return next((number for number in (at, at + 1) if number < len(file.head) and _is_day(file.head[number])), -1)


def _identity(file: TextFile, options: FileOptions) -> tuple[str, str]:
    """Return station and pollutant, from the name of the file; raises DataError for a name without them."""
    name = file.path.name
    raw = _RAW.match(name)
    if raw:
        return options.station or raw[1].upper(), options.parameter or parameter_of(raw[2].lstrip("0"))
    words = [word for word in re.split(r"[_.\s-]", name) if word]
    station = options.station or next((word for word in words if _STATION.fullmatch(word)), "")
    parameter = options.parameter or next((parameter_of(word) for word in words if is_pollutant(word)), "")
    if not station or not parameter:
        raise DataError(
            f"{file.path} is an AirBase file without station and pollutant in its name; name it as AirBase does "
            f"(BETR8010000800100hour...), or with both (BETR801_NO2.tsv)"
        )
    return station, parameter


def _read(rows: TableRows, options: FileOptions) -> Iterator[Record]:
    station, parameter = _identity(rows.file, options)
    unit = options.unit(parameter, "mg/m3" if parameter == "CO" else "ug/m3")
    for line, cells in rows.within(_first(rows.file), 2 * _HOURS + 1, 0, _HOURS):
        for hour in range(_HOURS):
            value, flag = cells[1 + 2 * hour], cells[2 + 2 * hour]
            yield Record(line, station, parameter, value, unit, f"{cells[0]} {hour:02d}:00", period=HOUR, flag=flag)


LAYOUT: Final = Layout(
    "AirBase", lambda file: _first(file) >= 0, _read, TimeConvention("UTC+01:00", "start"), HOUR,
    columns="a date and 24 pairs of value and flag, divided by tabs; station and pollutant in the name of the file",
    source="AirBase: standard time of the station, by the column timezone of its table, else UTC+1; start of the hour",
    units="ug/m3, of CO mg/m3",
    flags=frozenset(str(flag) for flag in range(1, 10)), zone_of_station=True,
)  # fmt: skip
"""A flag above 0 is valid."""
