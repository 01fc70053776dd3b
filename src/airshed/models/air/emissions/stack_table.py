"""Table of point sources with the data of their stacks: a CSV file with units in its header.

name, lon, lat, height [m], diameter [m], velocity [m/s], temperature [degC], sector, NOx [t/yr], SO2 [g/s]
"""

import re
from dataclasses import dataclass, replace
from datetime import timedelta, timezone, tzinfo
from pathlib import Path
from typing import Final, NamedTuple, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import CaseError, DataError
from airshed.core.text import listed
from airshed.core.units import quantity
from airshed.grid.coordinates import around_meridian
from airshed.io.tables import Row, header, read_table
from airshed.models.air.emissions.plume_rise import Exhaust
from airshed.models.air.emissions.sectors import SECTORS

CONSTANT: Final = ""
"""Sector of stacks without one, whose emission is constant."""


class _Measure(NamedTuple):
    unit: str
    least: float
    most: float


_STACK: Final = {
    "height": _Measure("m", 0.0, 1000.0), "diameter": _Measure("m", 0.01, 100.0),
    "velocity": _Measure("m/s", 0.0, 300.0), "flow": _Measure("m3/s", 0.0, 1e5),
    "temperature": _Measure("K", 200.0, 3000.0),
}  # fmt: skip
_TEXTS: Final = ("name", "lon", "lat", "sector", "time_zone")
_RATE: Final = _Measure("kg/s", 0.0, 1e8)
_AMOUNT: Final = _Measure("mol/s", 0.0, 1e10)
_HEADING: Final = re.compile(r"(.*?)\s*\[(.*)\]")


class _Column(NamedTuple):
    """Column with a unit: its heading in the file, and SI value = factor * number + offset, with its limits."""

    heading: str
    factor: float
    offset: float
    measure: _Measure

    def of(self, row: Row, *, empty: bool = False) -> float:
        """Return the value of a row in SI units; an empty cell is 0 if it may be empty. Raises DataError."""
        if empty and not row.text(self.heading):
            return 0.0
        value = self.factor * row.number(self.heading, least=-np.inf) + self.offset
        unit, least, most = self.measure
        if not least <= value <= most:
            raise row.error(f"{self.heading} is {row.text(self.heading)[:40]}; it must be {least:g} to {most:g} {unit}")
        return value


@dataclass(frozen=True)
class StackTable:
    """Stacks of a file, all arrays (stacks,).

    lon, lat  [degrees];  exhaust  stacks and their exhaust gas
    sectors   code of the sector of each stack, empty for constant emission;  zones  local time of each stack
    rates     emission by column, mean over the year: [kg/s], or [mol/s] for columns in ``amounts``
    """

    path: Path
    lon: Array
    lat: Array
    exhaust: Exhaust
    sectors: npt.NDArray[np.str_]
    zones: tuple[tzinfo, ...]
    rates: dict[str, Array]
    amounts: frozenset[str]

    @property
    def size(self) -> int:
        """Number of stacks."""
        return self.lon.size

    def part(self, rows: npt.NDArray[np.intp]) -> Self:
        """Return some stacks, by index."""
        return replace(
            self, lon=self.lon[rows], lat=self.lat[rows], exhaust=self.exhaust.part(rows), sectors=self.sectors[rows],
            zones=tuple(self.zones[row] for row in rows), rates={name: each[rows] for name, each in self.rates.items()},
        )  # fmt: skip


def read_stacks(path: Path) -> StackTable:
    """Read a table of stacks.

    Columns ``lon`` and ``lat`` [degrees]; ``height``, ``diameter``, ``temperature`` and ``velocity`` or ``flow``, each
    with its unit in brackets; optional ``name``, ``sector`` (a GNFR code or its letter), ``time_zone`` (an IANA name).
    Every other column with a unit is the emission of a species or pollutant; an empty cell there is 0.

    Raises DataError for a missing column or unit, and for an invalid cell, with its line and column.
    """
    columns = _columns(path)
    motion = "velocity" if "velocity" in columns else "flow"
    rates = [name for name in columns if name not in _STACK]
    found: dict[str, list[float]] = {name: [] for name in ("lon", "lat", *columns)}
    sectors, zones = list[str](), list[tzinfo]()
    for row in read_table(path, ("lon", "lat")):
        found["lon"].append(row.number("lon", least=-180.0, most=540.0))
        found["lat"].append(row.number("lat", least=-90.0, most=90.0))
        for name, column in columns.items():
            found[name].append(column.of(row, empty=name in rates))
        sectors.append(_sector(row))
        zones.append(_zone(row, found["lon"][-1]))
    arrays = {name: np.array(values) for name, values in found.items()}
    area = 0.25 * np.pi * arrays["diameter"] ** 2
    velocity = arrays["velocity"] if motion == "velocity" else arrays["flow"] / area
    return StackTable(
        path, arrays["lon"], arrays["lat"],
        Exhaust(arrays["height"], arrays["diameter"], velocity, arrays["temperature"]), np.array(sectors, str),
        tuple(zones), {name: arrays[name] for name in rates},
        frozenset(name for name in rates if columns[name].measure is _AMOUNT),
    )  # fmt: skip


def _columns(path: Path) -> dict[str, _Column]:
    """Return the columns with a unit by their names; raises DataError for missing columns and units."""
    columns: dict[str, _Column] = {}
    headings = header(path)
    for heading in headings:
        match = _HEADING.fullmatch(heading)
        name, unit = (match[1], match[2]) if match else (heading, "")
        if name in columns:
            raise DataError(f"{path}, line 1: {name} has two columns; remove one of the two")
        if match and name not in _TEXTS:
            columns[name] = _column(path, heading, name, unit)
        elif not match and name in _STACK:
            raise DataError(f"{path}, line 1: {name} needs its unit in brackets, such as {name} [{_STACK[name].unit}]")
    texts = [each for each in ("lon", "lat") if each not in headings]
    missing = [*texts, *(f"{name} [{_STACK[name].unit}]" for name in ("height", "diameter", "temperature")
                         if name not in columns)]  # fmt: skip
    if not {"velocity", "flow"} & set(columns):
        missing.append("velocity [m/s] or flow [m3/s]")
    if missing:
        raise DataError(f"{path} lacks the column {listed(missing)}; it has {', '.join(map(repr, headings))[:200]}")
    if {"velocity", "flow"} <= set(columns):
        raise DataError(f"{path}, line 1: velocity and flow give the same twice; remove one of the two columns")
    if columns.keys() <= _STACK.keys():
        raise DataError(f"{path} has no emission; add columns such as NOx [t/yr] or SO2 [g/s]")
    return columns


def _column(path: Path, heading: str, name: str, unit: str) -> _Column:
    measures = (_STACK[name],) if name in _STACK else (_RATE, _AMOUNT)
    units = [each.unit for each in measures]
    try:
        one, zero = (quantity(f"{number} {unit}", units, where=f"{path}, line 1: {heading}") for number in (1, 0))
    except CaseError as error:
        raise DataError(str(error)) from error
    return _Column(heading, one.value - zero.value, zero.value, measures[units.index(one.unit)])


def _sector(row: Row) -> str:
    """Return the code of a sector from the code or its letter."""
    if not row.has("sector"):
        return CONSTANT
    letters = {code[0]: code for code in SECTORS}
    text = row.text("sector")
    return letters[text] if text in letters else row.known("sector", SECTORS)


def _zone(row: Row, lon: float) -> tzinfo:
    """Return the local time of a stack, by default the zone of its longitude without summer time."""
    if not row.has("time_zone"):
        return timezone(timedelta(hours=round(float(around_meridian(np.array(lon), 0.0)) / 15.0)))
    try:
        return ZoneInfo(row.text("time_zone"))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        name = row.text("time_zone")[:40]
        raise row.error(f"time_zone {name!r} is unknown; give an IANA name such as Europe/Paris") from error
