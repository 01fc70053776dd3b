"""Periods over which the fields of a file hold: by bounds of its times, by whole months or years, or until the next."""

from dataclasses import dataclass
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
"""Days from the beginning of a period to a stamp in its middle."""

_WORDS: Final = {"M": "whole months", "Y": "whole years", "D": "whole days", "h": "whole hours"}
_YEARS: Final = 25  # years before and after the start for which twelve months are repeated
_SPIN_UP: Final = 60  # days before the start for which changes within an hour are listed


_FEW: Final = 4  # least fields among which a gap is looked for


@dataclass(frozen=True, eq=False)
class Periods:
    """When each field holds: field ``number[k]`` from ``begin[k]`` until ``end[k]`` [s since the start], rising.

    One field without a period holds always. Before the start, in the spin-up, the first day is repeated.

    told  how the times of the file were taken, "" where each holds until the next
    """

    start: Any
    begin: Array
    end: Array
    number: NDArray[np.intp]
    told: str = ""

    @property
    def changes(self) -> tuple[float, ...]:
        """The times at which the field changes, also those of the repeated first day that are not on the hour."""
        found = np.union1d(self.begin, self.end)
        first = found[(found >= 0.0) & (found < SECONDS_PER_DAY)]
        midnight = np.datetime64(self.start, "D")
        within = first[((first + float((self.start - midnight) / np.timedelta64(1, "s"))) % 3600.0) != 0.0]
        before = [within - day * SECONDS_PER_DAY for day in range(_SPIN_UP, 0, -1)]
        return tuple(np.concatenate([*before, found[found >= 0.0]]).tolist())

    def at(self, seconds: float, where: str) -> int:
        """Return the number of the field that holds at a time; raises DataError for one that no field covers."""
        if not self.begin.size:
            return 0
        asked = seconds if seconds >= 0.0 else seconds % SECONDS_PER_DAY
        index = int(np.searchsorted(self.begin, asked, side="right")) - 1
        if index >= 0 and asked < self.end[index]:
            return int(self.number[index])
        first, last, moment = (_moment(self.start, each) for each in (self.begin[0], self.end[-1], asked))
        hint = "; emissions.climatology = true lets its twelve months hold for every year" if self._is_a_year() else ""
        repeated = " (the spin-up repeats the first day)" if seconds < 0.0 else ""
        raise DataError(f"{where} covers {first} to {last} UTC, but emission is needed at {moment}{repeated}{hint}")

    def as_climatology(self, where: str) -> "Periods":
        """Return periods in which twelve months hold for every year; raises CaseError where there are not twelve."""
        if not self._is_a_year():
            raise CaseError(f"emissions.climatology = true needs the twelve months of a year; {where} has other times")
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
        """Return what to know of a field that holds far longer than most others, as a time is missing; "" without."""
        hours = np.round((self.end - self.begin) / 3600.0, 3)
        if hours.size < _FEW or self.told:
            return ""
        usual, longest = float(np.median(hours)), int(hours.argmax())
        if hours[longest] <= 1.5 * usual or np.mean(hours == usual) < 0.5:
            return ""
        begin = _moment(self.start, self.begin[longest]).astype("datetime64[m]")
        return f"its field of {begin} holds for {hours[longest]:g} h, most others for {usual:g} h: are times missing?"

    def _is_a_year(self) -> bool:
        if self.begin.size != 12:
            return False
        middle = _date(self.start, 0.5 * (self.begin + self.end)).astype("datetime64[M]").astype(int)
        months = np.array_equal(np.sort(middle % 12), np.arange(12))
        return bool(months and np.all(self.end - self.begin > 27 * SECONDS_PER_DAY))


def read_periods(dataset: "xr.Dataset", start: np.datetime64, where: str) -> Periods:
    """Return the periods of a dataset's fields.

    Bounds of its times count. Without them, stamps at the beginning or in the middle of months, years, days or hours in
    a row, and the stamps of twelve months, hold for the whole of these; any others until the next one, the last as long
    as the one before. One field holds always.

    Raises DataError for times that are no dates in rising order, and for bounds that do not fit them.
    """
    nothing = np.zeros(0)
    if "time" not in dataset.dims:
        return Periods(start, nothing, nothing, nothing.astype(np.intp))

    # times
    if "time" not in dataset.coords:
        raise DataError(f"{where}: its dimension time has no values; give dates, such as hours since 2022-08-31")
    dates = dataset["time"].values
    if not dates.size:
        raise DataError(f"{where} has no times: its axis time is empty; give one field at least")
    if dates.dtype.kind != "M" or np.isnat(dates).any() or np.any(np.diff(dates) <= np.timedelta64(0)):
        raise DataError(f"{where}: its times must be dates in rising order, such as hours since 2022-08-31")
    if dates.size == 1:
        told = f"all times: there is one, {dates[0].astype('datetime64[D]')}"
        return Periods(start, nothing, nothing, nothing.astype(np.intp), told)
    number = np.arange(dates.size)

    # bounds of the times
    time = dataset["time"]
    named = [time.attrs.get(key) or time.encoding.get(key) for key in ("bounds", "climatology")]
    name = next((name for name in (*named, *_BOUNDS) if name and str(name) in dataset.variables), None)
    if name is not None:
        bounds = dataset[str(name)].values
        if bounds.shape != (time.size, 2) or bounds.dtype.kind != "M" or np.isnat(bounds).any():
            raise DataError(
                f"{where}: {name}, the bounds of its times, must be two dates for each time; mend or remove it"
            )
        begin, end = (_seconds(edge, start) for edge in bounds.T)
        if np.any(end <= begin) or np.any(begin[1:] < end[:-1] - 1e-3):
            raise DataError(
                f"{where}: the bounds of its times overlap or have no length; give each field its own period"
            )
        return Periods(start, begin, end, number, "the bounds of its times")

    # whole months, years, days or hours, else until the next
    for unit in ("M", "Y", "D", "h"):
        if _stamps(dates, unit):
            first = dates.astype(f"datetime64[{unit}]")
            begin, end = _seconds(first, start), _seconds(first + 1, start)
            return Periods(start, begin, end, number, _WORDS[unit])
    begin = _seconds(dates, start)
    return Periods(start, begin, np.append(begin[1:], 2.0 * begin[-1] - begin[-2]), number)


def _stamps(dates: Dates, unit: str) -> bool:
    """Whether dates stand in months, years, days or hours in a row, at their beginnings or in their middles.

    Days and hours at their beginnings hold until the next in any case. Of twelve months stamps may stand anywhere.
    """
    periods = dates.astype(f"datetime64[{unit}]")
    if np.any(np.diff(periods.astype(int)) != 1):
        return False
    days = (dates - periods) / np.timedelta64(86_400_000_000_000, "ns")
    low, high = _MIDDLE[unit]
    middle = bool(np.all((days >= low) & (days <= high)))
    return middle or (unit in "MY" and not days.any()) or (unit == "M" and dates.size >= 12)


def _seconds(dates: Dates, start: Any) -> Array:
    """Return dates in seconds since the start, to a millisecond: hours as floats do not hold each second exactly."""
    return np.asarray(np.round((dates - start) / np.timedelta64(1, "s"), 3))


def _date(start: Any, seconds: Array) -> Dates:
    return np.asarray(np.datetime64(start, "s") + np.round(seconds).astype("timedelta64[s]"))


def _moment(start: Any, seconds: float) -> np.datetime64:
    return np.datetime64(start, "s") + np.timedelta64(round(seconds), "s")
