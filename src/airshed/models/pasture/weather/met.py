"""Reader of `.met` files, the daily weather of a station in the format of APSIM and SILO.

    [weather.met.weather]                       sections, in which there may be constants
    !station name = ROMA AIRPORT                a comment; SILO writes the name of the station here
    latitude = -26.55  (DECIMAL DEGREES)        name = value (unit) ! comment
    year  day radn  maxt   mint  rain  evap    vp   code
     ()   () (MJ/m^2) (oC)  (oC)  (mm)  (mm) (hPa)     ()
    2020   1   30.6  40.1  23.4   0.0  11.3  19.3 400020

Columns have any order, in upper or lower case. Both `pan` and `evap` are pan evaporation; other columns (site, code)
are ignored. The file may be compressed with gzip.
"""

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

import numpy as np

from airshed.core.arrays import Array
from airshed.core.data import conversion
from airshed.core.errors import DataError
from airshed.core.files import plain_file
from airshed.core.text import quoted
from airshed.models.pasture.weather.station import UNITS, Column, Dates, Humidity, Station, degrees

_LABELS: Final = {
    "rain": "rain", "pan": "pan_evaporation", "evap": "pan_evaporation", "radn": "radiation",
    "maxt": "max_temperature", "mint": "min_temperature", "vp": "vapour_pressure", "vpd": "vapour_pressure_deficit",
}  # fmt: skip
"""Names of columns in lower case, and their weather fields."""
_UNITS: Final = {"oc": "degC", "mj/m2/d": "MJ m-2", "mj/m2/day": "MJ m-2", "mj/m2": "MJ m-2", "mm/day": "mm"}
"""Spellings of units in this format."""

_CONSTANT: Final = re.compile(r"[\w .]+")
_NAMES: Final = ("station name", "station_name", "title")
_SECTION: Final = re.compile(r"\s*\[([^].]+)")
_MISSING: Final = ("?", "*", "na", "nan", "-")


def read_met(path: Path | str, humidity: Humidity = "as_labelled") -> Station:
    """Return the weather in a `.met` file, in the units of the model.

    humidity  quantity of the column vp or vpd, see `Station.with_humidity`
    raises    DataError with the line for an invalid file: missing header, rows of different length, invalid numbers or
              days. Values are not checked here, see `checks`.
    """
    path = Path(path)
    head, rows = _parts(path, _text(path))
    columns = {}
    for label, unit in zip(head.labels, head.units, strict=True):
        name = _LABELS.get(label)
        if name in columns:
            _refuse(path, head.line, f"has two columns of {name}; remove one")
        if name is not None:
            columns[name] = _column(path, head, rows, label, unit)
    if not columns:
        _refuse(path, head.line, f"has no weather column; a header has some of {', '.join(_LABELS)}")
    latitude, longitude, notes = degrees(head.constants, path.name)
    station = Station(
        head.name or path.name.split(".met")[0],
        str(path),
        latitude,
        longitude,
        _dates(path, head, rows),
        columns,
        notes,
    )
    return station.with_humidity(humidity)


@dataclass
class _Head:
    """Header of the file; `line` is the line with the names of columns."""

    name: str = ""
    constants: dict[str, str] = field(default_factory=dict)
    labels: Sequence[str] = ()
    units: Sequence[str] = ()
    line: int = 0


_Rows = list[tuple[int, list[str]]]
"""Line numbers, from 1, and the words of the lines."""


def _text(path: Path) -> str:
    """Return the text of a file in any of the usual encodings."""
    content = plain_file(path).read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError) as error:
            raise DataError(f"{path} is damaged: {error}; get a new copy") from None
    try:
        text = content.decode("utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError:  # older programs write names such as Mt Surprise® in the Windows encoding
        text = content.decode("latin-1")
    text = text.rstrip("\x1a\0\r\n ")  # DOS writes an end-of-file character
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{path} is not a text file: line {line} has a zero byte")
    return text


def _parts(path: Path, text: str) -> tuple[_Head, _Rows]:
    """Return the header of a file and the words of its rows."""
    head, rows = _Head(), _Rows()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("!")[0].split()
        if head.labels:
            if words and not (number == head.line + 1 and words[0].startswith("(")):
                rows.append((number, words))
            elif words:
                head.units = [word.strip("()") for word in words]
        else:
            _read_head(head, number, line, words)
    if not head.labels:
        raise DataError(f"{path} is not a .met file: no line has the columns year and day")
    if not head.units:
        head.units = [""] * len(head.labels)
    if len(head.units) != len(head.labels):
        _refuse(path, head.line + 1, f"has {len(head.units)} units for {len(head.labels)} columns")
    for number, words in rows:
        if len(words) != len(head.labels):
            _refuse(path, number, f"has {len(words)} values for the {len(head.labels)} columns of line {head.line}")
    if not rows:
        raise DataError(f"{path} has no day of weather after line {head.line}")
    return head, rows


def _read_head(head: _Head, number: int, line: str, words: list[str]) -> None:
    """Read a line of the header."""
    folded = [word.casefold() for word in words]
    key, equals, value = line.partition("=")
    if {"year", "day"} <= set(folded):
        head.labels, head.line = folded, number
    elif equals and value.strip() and key.strip(" \t!").casefold() in _NAMES:
        head.name = value.strip().split("(oC)")[0].strip(" \"'")
    elif found := _SECTION.match(line):
        section = found.group(1).strip()
        head.name = head.name or ("" if section.casefold() in ("weather", "climate") else section)
    elif equals and _CONSTANT.fullmatch(key.strip()):
        head.constants[key.strip().casefold()] = value.split("!")[0].strip()


def _column(path: Path, head: _Head, rows: _Rows, label: str, unit: str) -> Column:
    target = UNITS[_LABELS[label]]
    folded = unit.casefold().replace("^", "").replace("**", "")
    change = conversion({"units": _UNITS.get(folded, unit)}, target, f"{path}, line {head.line + 1}: its {label}")
    values = _numbers(path, head, rows, label)
    return Column(change.factor * values + change.offset if change.changes else values, target, label)


def _numbers(path: Path, head: _Head, rows: _Rows, label: str) -> Array:
    at = head.labels.index(label)
    words = [row[at] for _, row in rows]
    try:
        return np.array(words, np.float64)
    except ValueError:
        return np.array([_number(path, number, label, row[at]) for number, row in rows])


def _number(path: Path, line: int, label: str, word: str) -> float:
    try:
        return np.nan if word.casefold() in _MISSING else float(word)
    except ValueError:
        _refuse(path, line, f"has {quoted(word)} for {label}, which is not a number")


def _dates(path: Path, head: _Head, rows: _Rows) -> Dates:
    """Return the dates of rows from the year and the day of the year, which starts at 1."""
    years, days = (_numbers(path, head, rows, label) for label in ("year", "day"))
    leap = (years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))
    wrong = ~((years >= 1) & (years <= 9999) & (days >= 1) & (days <= 365 + leap))
    wrong |= (years % 1 != 0) | (days % 1 != 0)
    if wrong.any():
        at = int(np.argmax(wrong))
        _refuse(path, rows[at][0], f"has day {days[at]:g} of year {years[at]:g}, which does not exist")
    first = (years - 1970).astype("datetime64[Y]").astype("datetime64[D]")
    dates: Dates = first + (days - 1).astype("timedelta64[D]")
    return dates


def _refuse(path: Path, line: int, problem: str) -> NoReturn:
    raise DataError(f"{path}, line {line}, {problem}; correct it or get a new copy")
