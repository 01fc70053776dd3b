"""Time conventions of observation files: zone and label; and the conversion of labels to means in UTC."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cached_property, lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

import numpy as np

from airshed.core.errors import CaseError
from airshed.core.text import suggestion

LABELS: Final = ("start", "end", "start and end")
EXAMPLE: Final = (
    'time = { zone = "Europe/Berlin", label = "end" } in a case, or --time-zone Europe/Berlin --time-label end'
)
_DAY: Final = 86400.0
_HOUR: Final = timedelta(hours=1)

_OFFSET: Final = re.compile(r"(?:UTC|GMT)?\s*([-+])(\d{1,2})(?::?(\d\d))?", re.IGNORECASE | re.ASCII)
_TIME: Final = re.compile(
    r"(?:(?P<year>\d{4})(?:([-/.])(?P<month>\d{1,2})\2(?P<day>\d{1,2})|(?P<month3>\d\d)(?P<day3>\d\d))|(?P<day2>\d{1,2})([-/.])(?P<month2>\d{1,2})\8(?P<year2>\d{4}))"
    r"(?:(?:T|\s|,)\s*(?P<hour>\d{1,2})(?::?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:\.\d*)?)?)?)?"
    r"\s*(?P<zone>Z|UTC|GMT|[-+]\d\d(?::?\d\d)?|CET|CEST|MEZ|MESZ|BST)?",
    re.ASCII | re.IGNORECASE,
)
_QUOTES: Final = str.maketrans("", "", "'\"")
_NAMED: Final = {"Z": 0, "UTC": 0, "GMT": 0, "CET": 60, "MEZ": 60, "BST": 60, "CEST": 120, "MESZ": 120}
"""Minutes ahead of UTC of the zone names at the end of a time."""


@dataclass(frozen=True)
class TimeConvention:
    """Meaning of the times in a file.

    zone   IANA zone ("Europe/Berlin"), fixed offset ("UTC+01:00", "+01:00"), "UTC", or "file": an offset in each row.
           An offset in a row has precedence
    label  "start" or "end" of the mean; "start and end" where the file has both
    raises CaseError for a zone or a label that is unknown
    """

    zone: str
    label: str

    def __post_init__(self) -> None:
        if self.label not in LABELS:
            raise CaseError(f"time.label is {self.label[:40]!r}; it is one of {', '.join(LABELS)}, as in {EXAMPLE}")
        _ = self.tzinfo

    @cached_property
    def tzinfo(self) -> tzinfo | None:
        """The zone; None where each row has its offset."""
        if self.zone == "file":
            return None
        if self.zone.upper() in ("UTC", "GMT", "Z"):
            return UTC
        offset = _OFFSET.fullmatch(self.zone.strip())
        try:
            return _fixed(offset) if offset else ZoneInfo(self.zone)
        except (KeyError, ValueError, OSError):
            advice = suggestion(self.zone, available_timezones(), limit=0) if self.zone else ""
            raise CaseError(
                f'time.zone is {self.zone[:40]!r}; give an IANA zone such as "Europe/Berlin", an offset such as '
                f'"UTC+01:00", "UTC", or "file" where each row has an offset{"; " + advice if "mean" in advice else ""}'
            ) from None


def _fixed(match: re.Match[str]) -> timezone:
    ahead = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
    return timezone(ahead if match[1] == "+" else -ahead)


class Label(NamedTuple):
    """Time in a file: local time, offset or None, and whether it is a date without a time."""

    clock: datetime
    offset: timedelta | None
    is_date: bool


def read_label(text: str) -> Label | None:
    """Return a time such as 2022-08-31T13:00Z, 31.08.2022 13:00 or 2022-08-31 24:00, None for other texts.

    A day comes before its month where the year is last.
    """
    match = _TIME.fullmatch(text.translate(_QUOTES).strip())
    if match is None:
        return None
    part = match.groupdict()
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    midnight = hour == 24 and minute == second == 0
    year, month, day = (
        int(part[name] or part.get(f"{name}2") or part[f"{name}3"]) for name in ("year", "month", "day")
    )
    try:
        clock = datetime(year, month, day, 0 if midnight else hour, minute, second) + timedelta(days=midnight)
    except (ValueError, OverflowError):
        return None
    return Label(clock, _offset(part["zone"]), part["hour"] is None)


def _offset(zone: str | None) -> timedelta | None:
    if not zone:
        return None
    minutes = _NAMED.get(zone.upper())
    if minutes is not None:
        return timedelta(minutes=minutes)
    sign = -1 if zone[0] == "-" else 1
    return sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[3:].lstrip(":") or 0))


class Means(NamedTuple):
    """Begin and end of a mean [s since the start of the window]; two pairs in the repeated hour of a clock change.

    fault  fault of the labels, "" for none
    """

    spans: tuple[tuple[float, float], ...]
    fault: str = ""


class Clock:
    """Conversion of time labels to averaging intervals in UTC.

    start  of the window, UTC
    """

    def __init__(self, convention: TimeConvention, start: np.datetime64) -> None:
        self.convention = convention
        self.start: datetime = start.astype("datetime64[us]").item()
        self._known: dict[tuple[str, str, float], Means] = {}

    def means(self, label: str, other: str, period: float) -> Means:
        """Return the averaging interval of a label.

        other   the label of its end where the file has both, else ""
        period  [s] of the mean, 0 for an instant; without effect where the file has both labels
        """
        key = (label, other, period)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._both(label, other) if other else self._one(label, period)
        return found

    def _one(self, text: str, period: float) -> Means:
        label = read_label(text)
        if label is None:
            return Means((), _no_time(text))
        ends, length = self.convention.label == "end", timedelta(seconds=period)
        at_midnight = label.clock.hour == label.clock.minute == 0
        if period > 0.0 and period % _DAY == 0.0 and at_midnight:  # a day of 23 or 25 hours where the clocks change
            begin = label.clock - length if ends and not label.is_date else label.clock
            return self._spans(begin, begin + length, label.offset, text)
        # The end of an hour follows from its start: 03:00 ends the repeated hour, and 02:00 the hour before the
        # skipped one.
        before = min(length, _HOUR) if ends else timedelta()
        instants = self._instants(label.clock - before, label.offset)
        if not instants:
            return Means((), self._no_instant(text, label.clock - before))
        starts = (each + before - length if ends else each for each in instants)
        return Means(tuple((self._seconds(each), self._seconds(each + length)) for each in starts))

    def _both(self, first: str, second: str) -> Means:
        begin, end = read_label(first), read_label(second)
        if begin is None or end is None:
            return Means((), _no_time(second if begin else first))
        if begin.offset is None and end.offset is None and end.clock > begin.clock:
            starts, length = self._instants(begin.clock, None), end.clock - begin.clock
            if len(starts) > 1:  # the repeated hour at the end of summer time
                return Means(tuple((self._seconds(each), self._seconds(each + length)) for each in starts))
        starts, ends = self._instants(begin.clock, begin.offset), self._instants(end.clock, end.offset)
        if not starts or not ends:
            return Means((), self._no_instant(second if starts else first, end.clock if starts else begin.clock))
        return _in_order(self._seconds(starts[0]), self._seconds(ends[-1] if begin.clock == end.clock else ends[0]))

    def _spans(self, begin: datetime, end: datetime, offset: timedelta | None, text: str) -> Means:
        starts, ends = self._instants(begin, offset), self._instants(end, offset)
        if not starts or not ends:
            return Means((), self._no_instant(text, end if starts else begin))
        return _in_order(self._seconds(starts[0]), self._seconds(ends[0]))

    def _instants(self, clock: datetime, offset: timedelta | None) -> tuple[datetime, ...]:
        """Return the instants [UTC, without a zone] of a local time: none, one or two."""
        if offset is not None:
            return (clock - offset,)
        zone = self.convention.tzinfo
        if zone is None:
            return ()
        found = []
        for fold in (0, 1):
            local = clock.replace(tzinfo=zone, fold=fold)
            instant = local.astimezone(UTC)
            if instant.astimezone(zone).replace(tzinfo=None) == clock:
                found.append(instant.replace(tzinfo=None))
        return tuple(dict.fromkeys(found))

    def _no_instant(self, text: str, clock: datetime) -> str:
        if self.convention.tzinfo is None:
            return f"the time {text[:40]!r} has no offset from UTC"
        return f"{clock:%H:%M} does not exist on that day in {self.convention.zone}: clocks go forward"

    def _seconds(self, instant: datetime) -> float:
        return (instant - self.start).total_seconds()


@lru_cache(maxsize=8)
def clock(convention: TimeConvention, start: np.datetime64) -> Clock:
    """Return a clock, shared by all files of one convention, since many stations have the same labels."""
    return Clock(convention, start)


def _in_order(begin: float, end: float) -> Means:
    return Means(((begin, end),)) if begin <= end else Means((), "its mean ends before it begins")


def _no_time(text: str) -> str:
    return f"{text[:40]!r} is not a time; write it as 2022-08-31T13:00:00Z" if text.strip() else "it has no time"
