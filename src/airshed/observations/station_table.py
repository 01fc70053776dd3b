"""Reads observations of stations from CSV, with the columns of OpenAQ or of our own names."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from airshed.core.errors import CaseError, DataError
from airshed.core.files import plain_file, read_text
from airshed.core.units import to
from airshed.io.tables import Row, read_table
from airshed.observations.screening import number_of
from airshed.observations.selection import Candidate, ObservationSelection

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "station": ("station", "location_id", "location", "locationId", "AirQualityStation", "Samplingpoint"),
    "lon": ("lon", "longitude"),
    "lat": ("lat", "latitude"),
    "species": ("species", "parameter", "AirPollutant"),
    "value": ("value", "Concentration"),
    "unit": ("unit", "units", "UnitOfMeasurement"),
    "time": ("time", "datetime", "utc", "date_utc", "datetimeUtc", "DatetimeEnd"),
    "averaging": ("averaging", "period"),
    "error": ("error",),
    "representativeness": ("representativeness",),
    "flag": ("flag", "qc_flag", "qc", "validity", "status"),
}
"""What is read -> the names that its column may have, in capital or small letters; the first one there counts.

Names of Airshed, of OpenAQ and of the European Environment Agency.
"""

_DIVIDERS: Final = {";": "semicolons", "\t": "tabs", "|": "bars"}
_POLLUTANTS: Final = frozenset(
    {"no", "no2", "nox", "o3", "co", "so2", "nh3", "pm10", "pm25", "pm2.5", "hcho", "isoprene"}
)
_LONG: Final = "give a row for each value, with the columns station, lon, lat, species, value, unit and time"

_MIDNIGHT: Final = re.compile(r"(\d{4}-\d\d-\d\d[T ])24(:00(?::00)?(?:Z|[-+]\d\d:?\d\d)?)", re.ASCII)
"""The end of a day, the beginning of the next one."""
_OFFSET: Final = re.compile(r" ([-+][0-9]{2}:?[0-9]{2})$")

_OPTIONAL: Final = frozenset({"averaging", "error", "representativeness", "flag"})


def read_stations(path: Path, start: np.datetime64, into: ObservationSelection, *, averaging: float = 3600.0) -> None:
    """Take the observations of a CSV file.

    start      of the window, UTC
    averaging  [s] over which a row without a period of its own is a mean, which ends at its time, as OpenAQ has it
    raises     DataError for a file that cannot be read, lacks a column or has no rows; one for rows that ``into``
               refuses, with file and line. Rows that cannot be used are passed over
    """
    _check_layout(path)
    names: dict[str, str] = {}
    before = len(into.rejected)
    for row in read_table(plain_file(path), (), bad=into.reject):
        names = names or _columns(path, row.columns)
        try:
            candidate = _candidate(row, names, start, averaging)
        except DataError as error:
            station, value = (row.text(names[what])[:40] for what in ("station", "value"))
            into.reject(row.where, str(error).removeprefix(f"{row.where}: "), station, value)
        else:
            into.add(candidate)
    if not names and len(into.rejected) == before:
        raise DataError(f"{path} has no rows; get a fresh copy of the file, or leave it out")


def _check_layout(path: Path) -> None:
    """Raise DataError, which names the layout, for a table of another one: divided by other marks, or a wide one."""
    first, second = (*read_text(plain_file(path)).split("\n", 2), "", "")[:2]
    for mark, word in _DIVIDERS.items():
        if first.count(mark) > first.count(","):
            commas = ", and its numbers may have decimal commas" if re.search(r"\d,\d", second) else ""
            raise DataError(f"{path}: its cells are divided by {word}{commas}; save it with commas, and {_LONG}")
    cells = [cell.strip().strip('"').casefold() for cell in first.split(",")]
    if any(re.fullmatch(r"[-+]?[0-9.]+", cell) for cell in cells):
        raise DataError(f"{path} begins with numbers, not with a line of names ({first[:40]!r}); add one")
    wide = [cell for cell in cells if re.sub(r"_[0-9]+$", "", cell) in _POLLUTANTS]
    if wide and not {name.casefold() for name in COLUMNS["value"]} & set(cells):
        raise DataError(f"{path} is a wide table, with a column for each species ({', '.join(wide[:4])}); {_LONG}")


def _columns(path: Path, present: tuple[str, ...]) -> dict[str, str]:
    folded = {name.casefold(): name for name in reversed(present)}
    found = {
        what: next((folded[name.casefold()] for name in names if name.casefold() in folded), "")
        for what, names in COLUMNS.items()
    }
    missing = [what for what, name in found.items() if not name and what not in _OPTIONAL]
    if missing:
        spelt = " or ".join(COLUMNS[missing[0]])
        raise DataError(f"{path} lacks the column {spelt}; it has {', '.join(present)[:200]}")
    return {what: name for what, name in found.items() if name}


def _candidate(row: Row, names: Mapping[str, str], start: np.datetime64, averaging: float) -> Candidate:
    def number(what: str) -> float:
        return row.number(names[what], least=-np.inf)

    def number_or_none(what: str) -> float | None:
        return number(what) if what in names and row.text(names[what]) else None

    flag = row.text(names["flag"]) if "flag" in names else ""
    value, fault = number_of(row.text(names["value"]))
    end = float((_time(row, names["time"]) - start) / np.timedelta64(1, "s"))
    return Candidate(
        station=row.name(names["station"]), kind="surface", parameter=row.name(names["species"]),
        lon=number("lon"), lat=number("lat"), begin=end - _period(row, names, averaging), end=end,
        value=value, unit=row.name(names["unit"]),
        error=number_or_none("error"), representativeness=number_or_none("representativeness"),
        flag=flag, where=row.where, fault=fault,
    )  # fmt: skip


def _period(row: Row, names: Mapping[str, str], default: float) -> float:
    if "averaging" not in names or not row.text(names["averaging"]):
        return default
    try:
        period = to(row.text(names["averaging"]), "s", where=names["averaging"])
    except CaseError as error:
        raise row.error(str(error)) from None
    if period < 0.0:
        raise row.error(f"{names['averaging']} is {period:g} s; give 0 s for an instant, or more for a mean")
    return period


def _time(row: Row, column: str) -> np.datetime64:
    """Return a time as UTC; one without an offset is UTC."""
    text = _OFFSET.sub(r"\1", row.text(column))
    midnight = _MIDNIGHT.fullmatch(text)
    try:
        time = datetime.fromisoformat(text if midnight is None else f"{midnight[1]}00{midnight[2]}")
        time += timedelta(days=midnight is not None)
    except (ValueError, OverflowError):
        raise row.error(f"{column} {text[:40]!r} is not a time; write it as 2022-08-31T13:00:00Z") from None
    in_utc = time if time.tzinfo is None else time.astimezone(UTC)
    return np.datetime64(in_utc.replace(tzinfo=None), "us")
