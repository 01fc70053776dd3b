"""Days of a case or a store, counted from 0, and their weeks: each year has 53, the last one with one or two days.

Weekly weather has a value for days 1-7 of a year, one for days 8-14 and so on. Since 365 = 52 x 7 + 1, week 53 has one
day, or two in a leap year. A week that begins before the first day of the calendar starts at this day.
"""

from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError

Numbers = npt.NDArray[np.int64]
Dates = npt.NDArray[np.datetime64]
WEEKS: Final = 53
"""Weeks of a year."""


@dataclass(frozen=True)
class Calendar:
    """Calendar of consecutive days: day n is first + n."""

    first: np.datetime64
    days: int

    @classmethod
    def between(cls, first: Any, last: Any) -> Self:
        """Return the days first <= day <= last; dates have the form "2020-01-01" or numpy.datetime64."""
        start = np.datetime64(first, "D")
        return cls(start, _days(start, np.datetime64(last, "D")) + 1)

    @property
    def last(self) -> np.datetime64:
        """Last day."""
        return self.first + np.timedelta64(self.days - 1, "D")

    @property
    def weeks(self) -> int:
        """Number of weeks with some of the days."""
        return int(self.week(np.array([self.days - 1]))[0]) + 1

    def dates(self, days: npt.ArrayLike) -> Dates:
        """Return the dates of days by their numbers."""
        dates: Dates = self.first + np.asarray(days).astype("timedelta64[D]")
        return dates

    def day_of_year(self, days: npt.ArrayLike) -> Numbers:
        """Return the day of the year, from 1."""
        return day_of_year(self.dates(days))

    def month(self, days: npt.ArrayLike) -> Numbers:
        """Return the month, from 1."""
        return self.dates(days).astype("datetime64[M]").astype(np.int64) % 12 + 1

    def week(self, days: npt.ArrayLike) -> Numbers:
        """Return the number of the week, from 0, which is the row of weekly weather."""
        return _week(self.dates(days)) - int(_week(np.array([self.first]))[0])

    def number(self, date: Any) -> int:
        """Return the number of a date; raises CaseError for a date outside the calendar."""
        day = _days(self.first, np.datetime64(date, "D"))
        if not 0 <= day < self.days:
            raise CaseError(f"there is weather from {self.first} to {self.last}, but not for {date}")
        return day

    def check(self, first: int, days: int, where: str) -> None:
        """Raise CaseError for days outside the calendar."""
        if first < 0 or days < 1 or first + days > self.days:
            ends = self.dates([first, first + days - 1])
            raise CaseError(f"{where} has weather from {self.first} to {self.last}, not from {ends[0]} to {ends[1]}")


def _days(first: np.datetime64, last: np.datetime64) -> int:
    return int((last - first) / np.timedelta64(1, "D"))


def day_of_year(dates: Dates) -> Numbers:
    """Return the day of the year of dates, from 1."""
    years = dates.astype("datetime64[Y]").astype("datetime64[D]")
    numbers: Numbers = (dates.astype("datetime64[D]") - years).astype(np.int64) + 1
    return numbers


def _week(dates: Dates) -> Numbers:
    years = dates.astype("datetime64[Y]").astype(np.int64)
    numbers: Numbers = years * WEEKS + (day_of_year(dates) - 1) // 7
    return numbers
