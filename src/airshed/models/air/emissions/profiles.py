"""Temporal and vertical profiles of the emission of sectors."""

import calendar
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from pathlib import Path

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import DataError
from airshed.grid.regrid import overlap_fractions
from airshed.io.tables import header, read_table, unique

MONTHS = tuple(calendar.month_abbr[month] for month in range(1, 13))
WEEKDAYS = tuple(calendar.day_abbr[day] for day in range(7))
_HOUR = timedelta(hours=1)
_LARGEST = 1e6  # upper limit of shares, percentages and factors of a profile
HOURS = tuple(str(hour) for hour in range(1, 25))
_SUNDAY = 6
_HOLIDAYS = frozenset({(1, 1), (12, 25)})
"""Month and day of public holidays on the same date in nearly all of Europe."""


@dataclass(frozen=True)
class TimeProfiles:
    """Relative emission by local time, one row per sector: month (.., 12), weekday (.., 7), hour (.., 24).

    Weekdays count from Monday; 1 January and 25 December count as Sundays. Hour 0 is from 0 to 1 o'clock local time.
    The hours of a day average one.
    """

    month: Array
    weekday: Array
    hour: Array

    def selected(self, rows: Sequence[int]) -> "TimeProfiles":
        """Return the profiles of some sectors, by index."""
        return TimeProfiles(self.month[rows], self.weekday[rows], self.hour[rows])

    def factors(self, local: datetime) -> Array:
        """Return the emission at a local time relative to the mean of its calendar year UTC, shape (sectors,).

        f = month x weekday x hour / mean of month x weekday x hour over all hours of the year. The mean of f over each
        year is one, independent of weekdays, leap days and summer time. A time without a zone is UTC.
        """
        year = local.year if local.tzinfo is None else local.astimezone(UTC).year
        hours = _hours(year, local.tzinfo)
        mean = np.einsum("sm,mwh,sw,sh->s", self.month, hours, self.weekday, self.hour, optimize=True) / hours.sum()
        day = self.month[:, local.month - 1] * self.weekday[:, _kind_of_day(local)] / mean
        return np.asarray(day * self.hour[:, local.hour])

    def factors_within(self, local: datetime, period: str) -> Array:
        """Return the emission at a local time relative to the mean of its year, month or day, shape (sectors,).

        period  of the fields that are multiplied: "year", "month" or "day"; others have factors of one
        """
        if period == "year":
            return self.factors(local)
        if period == "month":
            hours = _hours(local.year if local.tzinfo is None else local.astimezone(UTC).year, local.tzinfo)
            of_month = hours[local.month - 1]
            mean = np.einsum("wh,sw,sh->s", of_month, self.weekday, self.hour, optimize=True) / of_month.sum()
            return np.asarray(self.weekday[:, _kind_of_day(local)] * self.hour[:, local.hour] / mean)
        return np.asarray(self.hour[:, local.hour] if period == "day" else np.ones(len(self.hour)))


def read_time_profiles(folder: Path, sectors: Sequence[str]) -> TimeProfiles:
    """Return the profiles of the sectors, by their GNFR letter; raises DataError."""
    month = _read(folder / "month_profiles.csv", MONTHS, sectors)
    weekday = _read(folder / "weekday_profiles.csv", WEEKDAYS, sectors)
    hour = _read(folder / "hour_profiles.csv", HOURS, sectors)
    return TimeProfiles(month, weekday, hour / hour.mean(axis=1, keepdims=True))


def read_height_profiles(path: Path, sectors: Sequence[str], layer_faces: Array) -> Array:
    """Return the fraction of each sector's emission in each model layer, (sectors, layers); each row sums to one.

    The columns of the file are the tops of its layers (20m, 92m, ...), the lowest of which begins at the ground.
    Emission is uniform within a layer. Emission above the model top goes to the highest layer. Raises DataError.
    """
    columns = [name for name in header(path) if name.removesuffix("m").isdigit()]
    shares = _read(path, columns, sectors)
    faces = np.array([0.0, *(float(name.removesuffix("m")) for name in columns)])
    if len(columns) == 0 or np.any(np.diff(faces) <= 0.0):
        raise DataError(f"{path}: the columns must be rising layer tops, such as 20m,92m, not {', '.join(columns)}")
    total = shares.sum(axis=1)
    if np.any(np.abs(total - 1.0) > 1e-3):
        worst = int(np.argmax(np.abs(total - 1.0)))
        raise DataError(f"{path}: the shares of {sectors[worst]} sum to {total[worst]:g}, but must sum to 1")
    to_layers = overlap_fractions(faces, layer_faces)
    to_layers[-1] += 1.0 - to_layers.sum(axis=0)
    return np.asarray(shares / total[:, None]) @ to_layers.T


def _read(path: Path, columns: Sequence[str], sectors: Iterable[str]) -> Array:
    """Return one row of numbers per sector; the mean of each row must not be zero."""
    found: dict[str, list[float]] = {}
    for row in read_table(path, ("GNFR", *columns)):
        values = [row.number(column, most=_LARGEST) for column in columns]
        if sum(values) == 0.0:
            raise row.error("all values are 0; give a profile that emits at some time")
        unique(found, row.name("GNFR"), values, row)
    missing = [sector for sector in sectors if sector[0] not in found]
    if missing:
        raise DataError(f"{path} has no profile for {', '.join(missing)}; add a line with the sector's first letter")
    return np.array([found[sector[0]] for sector in sectors])


def _kind_of_day(local: datetime) -> int:
    """Return the weekday from Monday = 0; a public holiday counts as a Sunday."""
    return _SUNDAY if (local.month, local.day) in _HOLIDAYS else local.weekday()


@cache
def _hours(year: int, zone: tzinfo | None) -> Array:
    """Return the number of hours of a year UTC by local month, weekday and hour, shape (12, 7, 24)."""
    hours = np.zeros((12, 7, 24))
    moment, end = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    while moment < end:
        local = moment if zone is None else moment.astimezone(zone)
        hours[local.month - 1, _kind_of_day(local), local.hour] += 1.0
        moment += _HOUR
    hours.setflags(write=False)
    return hours
