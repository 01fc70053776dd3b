"""Times to which a run advances: seconds since the start, durations with a unit, and dates."""

from datetime import UTC, date, datetime, timedelta
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np

from airshed.core.errors import CaseError
from airshed.core.every import INSTANT
from airshed.core.units import to

Until = str | float | timedelta | datetime | np.timedelta64 | np.datetime64 | None
"""None stands for the end of the case."""


def seconds_until(until: Until, start: np.datetime64, now: float, end: float) -> float:
    """Return a time as seconds since the start of a case; raises CaseError for a time that is past or beyond the end.

    until  seconds, "6 h", a timedelta, or a date in UTC, also as a text such as "2022-08-31T06:00"
    """
    if until is None:
        return end
    if isinstance(until, timedelta | np.timedelta64):
        until = float(np.timedelta64(until) / np.timedelta64(1, "s"))
    moment = _moment(until)
    if moment is not None:
        seconds = float((moment - start) / np.timedelta64(1, "s"))
    elif isinstance(until, Real) and not isinstance(until, bool):
        seconds = float(until)
    else:
        seconds = to(until, "s", where="until")  # type: ignore[arg-type]
    if not isfinite(seconds):
        raise CaseError(f'until = {until!r} is no time; give seconds since the start, or a text such as "6 h"')
    if seconds > end:
        raise CaseError(f"until = {until!r} lies beyond the end of the case, {end:g} s; lengthen time.length")
    if seconds < now - INSTANT:
        raise CaseError(f"until = {until!r} is past: the simulation is at {now:g} s; give a later time")
    return seconds


def _moment(until: object) -> Any:
    """Return a date as UTC, one without an offset taken as UTC; None for what is no date."""
    if isinstance(until, str) and "-" in until[:6]:
        try:
            until = datetime.fromisoformat(until.strip())
        except ValueError:
            return None
    if isinstance(until, np.datetime64):
        return until
    if isinstance(until, datetime):
        return np.datetime64((until.astimezone(UTC) if until.tzinfo else until).replace(tzinfo=None), "us")
    return np.datetime64(until, "us") if isinstance(until, date) else None
