"""Reads observations of stations from CSV, with the columns of OpenAQ or of our own names."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from airshed.air.emissions.tables import Row, header, read_table
from airshed.assimilate.taking import Candidate, Taking
from airshed.core.errors import CaseError, DataError
from airshed.core.files import plain_file
from airshed.core.units import to

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "station": ("station", "location_id", "location", "locationId"),
    "lon": ("lon", "longitude"),
    "lat": ("lat", "latitude"),
    "species": ("species", "parameter"),
    "value": ("value",),
    "unit": ("unit", "units"),
    "time": ("time", "datetime", "utc", "date_utc", "datetimeUtc"),
    "averaging": ("averaging", "period"),
    "error": ("error",),
    "representativeness": ("representativeness",),
    "flag": ("flag",),
}
"""What is read -> the names that its column may have; the first one that is there counts."""

_OPTIONAL: Final = frozenset({"averaging", "error", "representativeness", "flag"})


def read_stations(path: Path, start: np.datetime64, into: Taking, *, averaging: float = 3600.0) -> None:
    """Take the observations of a CSV file.

    start      of the window, UTC
    averaging  [s] over which a row without a period of its own is a mean, which ends at its time, as OpenAQ has it
    raises     DataError with file and line for whatever cannot be used
    """
    names = _columns(path)
    for row in read_table(plain_file(path), ()):
        into.take(_candidate(row, names, start, averaging))


def _columns(path: Path) -> dict[str, str]:
    present = header(plain_file(path))
    found = {what: next((name for name in names if name in present), "") for what, names in COLUMNS.items()}
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
    text = row.text(names["value"])
    end = float((_time(row, names["time"]) - start) / np.timedelta64(1, "s"))
    return Candidate(
        station=row.name(names["station"]), kind="surface", parameter=row.name(names["species"]),
        lon=number("lon"), lat=number("lat"), begin=end - _period(row, names, averaging), end=end,
        value=number("value") if text or not flag else np.nan, unit=row.name(names["unit"]),
        error=number_or_none("error"), representativeness=number_or_none("representativeness"),
        flag=flag, where=f"{row.path}, line {row.line}",
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
    text = row.text(column)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise row.error(f"{column} {text[:40]!r} is not a time; write it as 2022-08-31T13:00:00Z") from None
    in_utc = time if time.tzinfo is None else time.astimezone(UTC)
    return np.datetime64(in_utc.replace(tzinfo=None), "us")
