"""Types of settings of all cases: times, names of files and fields, texts.

A range excludes meaningless values: its ends are beyond any use, and avoid overflow and endless runs.
"""

import re
from datetime import UTC, date, datetime
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WithJsonSchema

from airshed.core.errors import OutputError
from airshed.core.settings import KEY, quantity_range, refuse
from airshed.core.text import quoted, shown
from airshed.core.units import Quantity
from airshed.io.strategies.choice import Strategy

Length = Annotated[Quantity, quantity_range("s", least="1 s", most="100 year")]
Interval = Annotated[Quantity, quantity_range("s", least="1 s", most="1000 year")]
Text = Annotated[str, Field(min_length=1, max_length=200)]

MOST_RECORDS: Final = 1_000_000
"""Most records of an output, restarts, or calls of a function in a run: one per minute for two years."""

_LONGEST_NAME, _LONGEST_PATH = 255, 4000  # bytes, of all usual file systems

YEARS: Final = (1800, 2200)
"""First year and year after the last in which a case may begin: the calendar and the sun hold for these."""


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
        raise refuse(f"{KEY} = {quoted(value)} is not a valid file name")
    return value


def some(value: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse an empty list, and a list with repetitions."""
    if not value:
        raise refuse(f'{KEY} = [] is empty; leave it out, or use "all"')
    if len(set(value)) < len(value):
        raise refuse(f"{KEY} = {shown(list(value))} has a repetition; remove it")
    return value


PathText = Annotated[str, AfterValidator(_path)]
FileName = Annotated[str, AfterValidator(_file_name)]
StrategyName = Annotated[str, BeforeValidator(_strategy)]
Fields = Annotated[tuple[Text, ...], AfterValidator(some)]
Instant = Annotated[datetime, PlainValidator(_instant), WithJsonSchema({"type": "string", "format": "date-time"})]


def pair(value: Any) -> Any:
    """Return one value as the two ends of a range, and any other value unchanged."""
    return (value, value) if isinstance(value, str | int | float | Quantity) else value


def rising(value: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the two ends of a range; refuse ends in the wrong order."""
    first, last = (each.value if isinstance(each, Quantity) else each for each in value)
    if first > last:
        raise refuse(f"{KEY}: the first end is greater than the second")
    return value


Moment = Annotated[Quantity, quantity_range("s", least=0.0, most="100 year")]
Times = Annotated[tuple[Moment, Moment], BeforeValidator(pair), AfterValidator(rising)]
