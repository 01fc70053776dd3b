"""Validity periods of the fields of a file: by time bounds, by whole months or years, or until the next field."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import CaseError, DataError

if TYPE_CHECKING:
    import xarray as xr

Dates = NDArray[np.datetime64]
_BOUNDS: Final = ("time_bnds", "time_bounds", "climatology_bounds")
_MIDDLE: Final = {"M": (13.0, 17.0), "Y": (178.0, 187.0), "D": (0.49, 0.51), "h": (0.49 / 24.0, 0.51 / 24.0)}
"""Days from the beginning of a period to a time stamp in its middle."""

_WORDS: Final = {"M": "whole months", "Y": "whole years", "D": "whole days", "h": "whole hours"}
_YEARS: Final = 25  # years before and after the start for which twelve months are repeated
_LONGEST: Final = 400.0 * SECONDS_PER_DAY  # for which shorter fields are repeated, if the length of the run is unknown
_SPIN_UP: Final = 60  # days before the start for which changes within an hour are listed
_FEW: Final = 4  # minimum number of fields for the detection of gaps


@dataclass(frozen=True, eq=False)
class Periods:
    """Validity of fields: field ``number[k]`` from ``begin[k]`` until ``end[k]`` [s since the start], increasing.

    One field without a period is constant. The spin-up before the start repeats the first day.

    `validity`  of the fields in words, such as "whole months"; "" if each field is valid until the next
    """

    start: Any
    begin: Array
    end: Array
    number: NDArray[np.intp]
    validity: str = ""

    @property
    def changes(self) -> tuple[float, ...]:
        """Return the times at which the field changes, including times of the repeated day that are not on the hour."""
        found = np.union1d(self.begin, self.end)
        first = found[(found >= 0.0) & (found < SECONDS_PER_DAY)]
        midnight = np.datetime64(self.start, "D")
        within = first[((first + float((self.start - midnight) / np.timedelta64(1, "s"))) % 3600.0) != 0.0]
        before = [within - day * SECONDS_PER_DAY for day in range(_SPIN_UP, 0, -1)]
        return tuple(np.concatenate([*before, found[found >= 0.0]]).tolist())

    def at(self, seconds: float, where: str) -> int:
        """Return the index of the field at a time; raises DataError for a time that no field covers."""
        if not self.begin.size:
            return 0
        time = seconds if seconds >= 0.0 else seconds % SECONDS_PER_DAY
        index = int(np.searchsorted(self.begin, time, side="right")) - 1
        if index >= 0 and time < self.end[index]:
            return int(self.number[index])
        first, last, moment = (_moment(self.start, each) for each in (self.begin[0], self.end[-1], time))
        repeated = " (the spin-up repeats the first day)" if seconds < 0.0 else ""
        raise DataError(
            f"{where} covers {first} to {last} UTC, but emission is needed at {moment}{repeated}{self._hint(moment)}"
        )

    def _hint(self, moment: np.datetime64) -> str:
        """Return the setting that uses the fields at other times."""
        if self._is_a_year():
            return '; repeat = "year" uses its twelve months for every year'
        length = float(self.end[-1] - self.begin[0])
        if length <= 1.01 * SECONDS_PER_DAY:
            return '; repeat = "day" uses its day for every day'
        years = np.unique(self._years())
        if length > 360.0 * SECONDS_PER_DAY and str(moment)[:4] not in years.astype(str):
            return f"; year = {years[-1]} uses the fields of that year"
        return ""

    def check(self, last: float, where: str) -> None:
        """Raise DataError unless the fields cover the time from the start to ``last`` [s]."""
        if self.begin.size:
            is_known = np.isfinite(last)
            gaps = [end for end in self.end.tolist() if 0.0 < end < last] if is_known else []
            for seconds in (0.0, *gaps, max(last - 1e-3, 0.0) if is_known else 0.0):
                try:
                    self.at(seconds, where)
                except DataError as error:
                    if not is_known:
                        raise
                    ends = f"the run needs {_moment(self.start, 0.0)} to {_moment(self.start, last)}"
                    raise DataError(f"{error} ({ends})") from None

    @property
    def resolution(self) -> str:
        """The period of a field: "year" (also of a constant field), "month", "day" or "hour"."""
        days = float(np.median(self.end - self.begin)) / SECONDS_PER_DAY if self.begin.size else 365.0
        return "year" if days > 300.0 else "month" if days > 20.0 else "day" if days > 0.99 else "hour"

    def records(self, last: float) -> list[int]:
        """Return the numbers of the fields that a run of a length [s] uses, ascending; the first day counts fully."""
        if not self.begin.size:
            return [0]
        used = (self.end > 0.0) & (self.begin < max(last, SECONDS_PER_DAY))
        return sorted(set(self.number[used].tolist()))

    def renumbered(self, records: list[int]) -> "Periods":
        """Return the periods of some fields, which count from 0 in the given order."""
        if not self.begin.size:
            return self
        row = {number: index for index, number in enumerate(records)}
        kept = np.isin(self.number, records)
        number = np.array([row[each] for each in self.number[kept].tolist()], np.intp)
        return replace(self, begin=self.begin[kept], end=self.end[kept], number=number)

    def _years(self) -> NDArray[np.intp]:
        """Return the year of the middle of each period."""
        return np.asarray(_date(self.start, 0.5 * (self.begin + self.end)).astype("datetime64[Y]").astype(int) + 1970)

    def of_year(self, year: int | None, last: float, where: str) -> "Periods":
        """Return the fields of one year for every year; of the only one if ``year`` is None.

        Months, days and hours of the year stay; 29 February has the fields of the 28th if the file lacks it.
        Raises CaseError if the file has several years, or not the given one.
        """
        if not self.begin.size:
            return self
        if year is None and self._is_a_year():
            return self.as_climatology()
        years = self._years()
        there = np.unique(years).tolist()
        if year is None and len(there) > 1:
            raise CaseError(
                f'{where} has the fields of {there[0]} to {there[-1]}; repeat = "year" needs one of them: '
                f"year = {there[-1]}"
            )
        used = there[0] if year is None else year
        chosen = years == used
        if not chosen.any():
            raise CaseError(f"{where} has no fields of {year}; it has those of {', '.join(map(str, there[:12]))}")
        begin, end = (_date(self.start, each[chosen]) for each in (self.begin, self.end))
        until = last if np.isfinite(last) else _LONGEST
        first_year, last_year = (
            int(str(_moment(self.start, each).astype("datetime64[Y]"))) for each in (-_SPIN_UP * SECONDS_PER_DAY, until)
        )
        found = [
            _in_year(begin, end, self.number[chosen], np.datetime64(str(used), "Y"), np.datetime64(str(each), "Y"))
            for each in range(first_year, last_year + 1)
        ]
        begins, ends, numbers = (np.concatenate(each) for each in zip(*found, strict=True))
        validity = f"any year: those of {used}"
        return Periods(self.start, _seconds(begins, self.start), _seconds(ends, self.start), numbers, validity)

    def of_day(self, last: float, where: str) -> "Periods":
        """Return the fields of one day for every day; raises CaseError if the file has more than a day."""
        if not self.begin.size:
            return self
        if self.end[-1] - self.begin[0] > 1.01 * SECONDS_PER_DAY:
            raise CaseError(f'{where} has the fields of more than a day; repeat = "day" needs those of one')
        until = last if np.isfinite(last) else _LONGEST
        first = int(np.floor(-self.begin[0] / SECONDS_PER_DAY)) - _SPIN_UP
        days = SECONDS_PER_DAY * np.arange(first, first + _SPIN_UP + int(until / SECONDS_PER_DAY) + 3)[:, None]
        number = np.broadcast_to(self.number, (days.size, self.number.size)).ravel()
        return Periods(self.start, (self.begin + days).ravel(), (self.end + days).ravel(), number, "any day")

    def as_climatology(self) -> "Periods":
        """Return periods that use twelve months for every year."""
        middle = _date(self.start, 0.5 * (self.begin + self.end)).astype("datetime64[M]")
        number = np.empty(12, np.intp)
        number[middle.astype(int) % 12] = self.number
        year = int(np.datetime64(self.start, "Y").astype(int))
        months = np.arange(12 * (year - _YEARS), 12 * (year + _YEARS) + 1).astype("datetime64[M]")
        seconds = _seconds(months, self.start)
        return Periods(
            self.start, seconds[:-1], seconds[1:], number[months[:-1].astype(int) % 12], "months of any year"
        )

    def gap(self) -> str:
        """Return a notice about a field with a much longer period than most, which indicates missing times; else ""."""
        hours = np.round((self.end - self.begin) / 3600.0, 3)
        if hours.size < _FEW or self.validity:
            return ""
        usual, longest = float(np.median(hours)), int(hours.argmax())
        if hours[longest] <= 1.5 * usual or np.mean(hours == usual) < 0.5:
            return ""
        begin = _moment(self.start, self.begin[longest]).astype("datetime64[m]")
        return (
            f"its field of {begin} is valid for {hours[longest]:g} h, most fields for {usual:g} h: are times missing?"
        )

    def _is_a_year(self) -> bool:
        if self.begin.size != 12:
            return False
        middle = _date(self.start, 0.5 * (self.begin + self.end)).astype("datetime64[M]").astype(int)
        months = np.array_equal(np.sort(middle % 12), np.arange(12))
        return bool(months and np.all(self.end - self.begin > 27 * SECONDS_PER_DAY))


def read_periods(dataset: "xr.Dataset", start: np.datetime64, where: str) -> Periods:
    """Return the periods of a dataset's fields.

    Time bounds have priority. Stamps without bounds at the beginning or in the middle of consecutive months, years,
    days or hours stand for the whole of these. So do the stamps of twelve months. Other fields are valid until the next
    one, and the last one as long as the previous one. A single field is constant.

    Raises DataError for times that are not increasing dates, and for bounds that do not match them.
    """
    nothing = np.zeros(0)
    if "time" not in dataset.dims:
        return Periods(start, nothing, nothing, nothing.astype(np.intp))

    # times
    if "time" not in dataset.coords:
        raise DataError(f"{where}: its dimension time has no values; give dates, such as hours since 2022-08-31")
    dates = dataset["time"].values
    if not dates.size:
        raise DataError(f"{where} has no times: its axis time is empty; give at least one field")
    if dates.dtype.kind != "M" or np.isnat(dates).any() or np.any(np.diff(dates) <= np.timedelta64(0)):
        raise DataError(f"{where}: its times must be dates in rising order, such as hours since 2022-08-31")
    if dates.size == 1 and not bounds_of(dataset):
        validity = f"all times: there is one, {dates[0].astype('datetime64[D]')}"
        return Periods(start, nothing, nothing, nothing.astype(np.intp), validity)
    number = np.arange(dates.size)

    # bounds of the times
    time, name = dataset["time"], bounds_of(dataset)
    if name:
        bounds = dataset[str(name)].values
        if bounds.shape != (time.size, 2) or bounds.dtype.kind != "M" or np.isnat(bounds).any():
            raise DataError(
                f"{where}: {name}, the bounds of its times, must be two dates for each time; correct or remove it"
            )
        begin, end = (_seconds(edge, start) for edge in bounds.T)
        if np.any(end <= begin) or np.any(begin[1:] < end[:-1] - 1e-3):
            raise DataError(
                f"{where}: the bounds of its times overlap or have no length; give each field its own period"
            )
        return Periods(start, begin, end, number, "the bounds of its times")

    # whole months, years, days or hours, else until the next
    for unit in ("M", "Y", "D", "h"):
        if _are_consecutive(dates, unit):
            first = dates.astype(f"datetime64[{unit}]")
            begin, end = _seconds(first, start), _seconds(first + 1, start)
            return Periods(start, begin, end, number, _WORDS[unit])
    begin = _seconds(dates, start)
    return Periods(start, begin, np.append(begin[1:], 2.0 * begin[-1] - begin[-2]), number)


def bounds_of(dataset: "xr.Dataset") -> str:
    """Return the name of the bounds of the times, "" if there are none."""
    time = dataset["time"]
    named = [time.attrs.get(key) or time.encoding.get(key) for key in ("bounds", "climatology")]
    return next((str(name) for name in (*named, *_BOUNDS) if name and str(name) in dataset.variables), "")


def _in_year(begin: Dates, end: Dates, number: NDArray[np.intp], source: Any, target: Any) -> tuple[Any, ...]:
    """Return the beginnings, ends and numbers of periods of one year in another year."""
    shift = 12 * int((target - source).astype(int))

    def moved(dates: Dates, *, is_end: bool) -> Dates:
        # an end at midnight of the first of a month belongs to the month before
        month = (dates - np.timedelta64(1, "s") if is_end else dates).astype("datetime64[M]")
        new = month + shift
        within = dates - month.astype("datetime64[s]")
        length = (month + 1).astype("datetime64[s]") - month.astype("datetime64[s]")
        of_new = (new + 1).astype("datetime64[s]") - new.astype("datetime64[s]")
        whole = is_end & (within == length)
        return np.asarray(new.astype("datetime64[s]") + np.where(whole, of_new, np.minimum(within, of_new)))

    # the same day of the month and time of the day, at most the end of the month
    first, last = moved(begin, is_end=False), moved(end, is_end=True)

    # 29 February of a leap year: the fields of the 28th end at midnight, and are repeated a day later
    day = np.timedelta64(86400, "s")
    leap = np.datetime64(f"{str(target)[:4]}-03-01", "s") - day
    long = (last - first > day) & (end - begin < day) & (last == leap + day)
    last = np.where(long, leap, last)
    again = (first >= leap - day) & (last <= leap) & (end - begin < day) & bool(long.any())
    first, last, number = (
        np.concatenate([first, first[again] + day]), np.concatenate([last, last[again] + day]),
        np.concatenate([number, number[again]]),
    )  # fmt: skip

    # in rising order, without the 29 February that the other year lacks
    order = np.argsort(first, kind="stable")
    kept = order[(last > first)[order]]
    return first[kept], last[kept], number[kept]


def _are_consecutive(dates: Dates, unit: str) -> bool:
    """Return True if dates are at the beginnings or in the middles of consecutive months, years, days or hours.

    Stamps at the beginnings of days and hours need no special case. Stamps of twelve months may be at any day.
    """
    periods = dates.astype(f"datetime64[{unit}]")
    if np.any(np.diff(periods.astype(int)) != 1):
        return False
    days = (dates - periods) / np.timedelta64(86_400_000_000_000, "ns")
    low, high = _MIDDLE[unit]
    middle = bool(np.all((days >= low) & (days <= high)))
    return middle or (unit in "MY" and not days.any()) or (unit == "M" and dates.size >= 12)


def _seconds(dates: Dates, start: Any) -> Array:
    """Return dates in seconds since the start, rounded to a millisecond, since hours as floats are not exact."""
    return np.asarray(np.round((dates - start) / np.timedelta64(1, "s"), 3))


def _date(start: Any, seconds: Array) -> Dates:
    return np.asarray(np.datetime64(start, "s") + np.round(seconds).astype("timedelta64[s]"))


def _moment(start: Any, seconds: float) -> np.datetime64:
    return np.datetime64(start, "s") + np.timedelta64(round(seconds), "s")
