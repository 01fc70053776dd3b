"""The values that settings of a case hold: quantities in their ranges, factors, places, names, moments.

A range is what a case can mean at all: its ends lie beyond any weather, and before overflow and endless runs.
"""

import re
from datetime import UTC, date, datetime
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator

from airshed.core.errors import OutputError
from airshed.core.settings import KEY, Number, Whole, measured, refuse
from airshed.core.units import Quantity
from airshed.core.words import quoted, shown
from airshed.io.strategies.names import Strategy

Length = Annotated[Quantity, measured("s", least="1 s", most="100 year")]
SpinUp = Annotated[Quantity, measured("s", least="1 s", most="10 year", or_zero=True)]
Step = Annotated[Quantity, measured("s", least="1 ms", most="1 day")]
Interval = Annotated[Quantity, measured("s", least="1 s", most="1000 year")]
Turn = Annotated[Quantity, measured("s", least="1 min", most="1000 year", or_negative=True)]
Height = Annotated[Quantity, measured("m", least="0.1 m", most="100 km")]
Release = Annotated[Quantity, measured("m", least=0.0, most="100 km")]
Angle = Annotated[Quantity, measured("deg", least="1e-5 deg", most="360 deg")]
Speed = Annotated[Quantity, measured("m/s", least="-1000 m/s", most="1000 m/s")]
Temperature = Annotated[Quantity, measured("K", least="150 K", most="500 K")]
Pressure = Annotated[Quantity, measured("Pa", least="200 hPa", most="1500 hPa")]
Diffusivity = Annotated[Quantity, measured("m2/s", least=0.0, most="5e4 m2/s")]
DepositionVelocity = Annotated[Quantity, measured("m/s", least=0.0, most="10 m/s")]
MixingRatio = Annotated[Quantity, measured("mol/mol", least=0.0, most=1.0)]
Vapour = Annotated[Quantity, measured("mol/mol", least=0.0, most="0.1 mol/mol")]
Rain = Annotated[Quantity, measured("m/s", least=0.0, most="1 m/h")]
CloudWater = Annotated[Quantity, measured("kg/kg", least=0.0, most="0.05 kg/kg")]
EmissionRate = Annotated[Quantity, measured("kg/s", "mol/s", least=0.0, most=("1e8 kg/s", "1e10 mol/s"))]
EmissionFlux = Annotated[Quantity, measured("kg/m2/s", "mol/m2/s", least=0.0, most=("1 kg/m2/s", "100 mol/m2/s"))]
Tolerance = Annotated[Quantity, measured("molecules/cm3", least="1e-30 molecules/cm3", most="1e20 molecules/cm3")]
Factor = Annotated[Number, Field(ge=0.0, le=1e6)]
Longitude = Annotated[Number, Field(ge=-180.0, le=360.0)]
Latitude = Annotated[Number, Field(ge=-90.0, le=90.0)]
Text = Annotated[str, Field(min_length=1, max_length=200)]
Layer = Annotated[Whole, Field(ge=0, le=999)]
Ranks = Annotated[Whole, Field(ge=0, le=1_000_000)]
Tiles = Annotated[Whole, Field(ge=1, le=1_000_000)]

MOST_CELLS: Final = 1e9
"""Cells of a grid: of 66 species they are half a terabyte, more than any machine holds."""

MOST_RECORDS: Final = 1_000_000
"""Records of an output, restarts and calls of a function in a run: every minute of two years."""

_LONGEST_NAME, _LONGEST_PATH = 255, 4000  # bytes, of all usual file systems

YEARS: Final = (1800, 2200)
"""Years in which a case may begin: calendar and sun are those of today's reckoning."""


def _range(value: tuple[float, float]) -> tuple[float, float]:
    if value[0] >= value[1]:
        raise refuse(f"{KEY} = {list(value)} must run from the smaller to the larger: [west, east] or [south, north]")
    return value


def _instant(value: object) -> datetime:
    """Return a moment of time in UTC; one without an offset is taken as UTC."""
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
    except ValueError as error:
        raise refuse(f"{KEY} = {shown(value)} is not a time; write it as 2022-08-31T00:00:00Z") from error
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if not isinstance(value, datetime):
        raise refuse(f"{KEY} must be a time such as 2022-08-31T00:00:00Z, not {shown(value)}")
    if value.microsecond:
        raise refuse(f"{KEY} = {value.isoformat()} must be a whole second")
    if not YEARS[0] <= value.year < YEARS[1]:
        raise refuse(f"{KEY} = {value.isoformat()} must lie in the years {YEARS[0]} to {YEARS[1] - 1}")
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def _strategy(value: object) -> str:
    text = str(value)
    try:
        return str(Strategy.parse(text[:60]))  # none is so long, and the message repeats it
    except OutputError as error:
        raise refuse(f"{KEY} = {quoted(text)}: {error}") from error


def _file_name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][\w-]{0,99}", value, re.ASCII):
        raise refuse(f"{KEY} = {quoted(value)} must be a plain name: letters, digits, - and _")
    return value


def _path(value: str) -> str:
    if not value.strip():
        raise refuse(f"{KEY} = {quoted(value)} is empty; give a name, or leave it out")
    longest = max(len(part.encode(errors="replace")) for part in value.split("/"))
    if longest > _LONGEST_NAME or len(value) > _LONGEST_PATH or not value.isprintable():
        raise refuse(f"{KEY} = {quoted(value)} is no name that a file can have")
    return value


def _some(value: tuple[Any, ...]) -> tuple[Any, ...]:
    if not value:
        raise refuse(f'{KEY} = [] names nothing to write; leave it out, or take "all"')
    if len(set(value)) < len(value):
        raise refuse(f"{KEY} = {shown(list(value))} names one twice")
    return value


PathText = Annotated[str, AfterValidator(_path)]
FileName = Annotated[str, AfterValidator(_file_name)]
StrategyName = Annotated[str, BeforeValidator(_strategy)]
Longitudes = Annotated[tuple[Longitude, Longitude], AfterValidator(_range)]
Latitudes = Annotated[tuple[Latitude, Latitude], AfterValidator(_range)]
Fields = Annotated[tuple[Text, ...], AfterValidator(_some)]
Levels = Annotated[tuple[Layer, ...], AfterValidator(_some)]
Instant = Annotated[datetime, PlainValidator(_instant)]
