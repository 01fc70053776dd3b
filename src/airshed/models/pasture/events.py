"""What is done to pastures on given days: fires."""

import re
from datetime import date
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, BeforeValidator, Field

from airshed.core.settings import KEY, Number, Section, refuse, setting

Dates = npt.NDArray[np.datetime64]

_LEAP_YEAR: Final = "2000"


def _day(value: str) -> str:
    """Return a day "09-01" of every year, or "1990-09-01" of one."""
    try:
        if re.fullmatch(r"(\d{4}-)?\d{2}-\d{2}", value, re.ASCII) is None:
            raise ValueError
        np.datetime64(value if len(value) > 5 else f"{_LEAP_YEAR}-{value}")
    except ValueError as error:
        raise refuse(f'{KEY} = {value!r} is no day; write "09-01" for each year, or "1990-09-01" for one') from error
    return value


def _written(value: object) -> object:
    """A date of TOML as a text."""
    return value.isoformat() if isinstance(value, date) else value


DateText = Annotated[str, BeforeValidator(_written)]
Day = Annotated[DateText, AfterValidator(_day)]
"""A day of every year, or of one."""


class Fire(Section):
    """A fire."""

    date: Day = setting(..., 'Its day: "09-01" in each year, "1990-09-01" in one.')
    fraction: Number = setting(1.0, "What burns of the dry matter that stands or lies.", unit="1", ge=0.0, le=1.0)


class EventsSection(Section):
    """What is done on given days."""

    fire: tuple[Fire, ...] = Field(default_factory=tuple)


def burnt_fraction(events: EventsSection, dates: Dates) -> npt.NDArray[np.float64]:
    """Return what burns on each of some days, 0 where nothing does; of two fires on a day each burns what is left."""
    written = np.datetime_as_string(dates.astype("datetime64[D]"))
    left = np.ones(dates.shape)
    for fire in events.fire:
        left[np.char.endswith(written, fire.date)] *= 1.0 - fire.fraction
    return 1.0 - left
