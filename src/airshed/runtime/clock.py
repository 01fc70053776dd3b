"""Division of simulated time into steps, which end at times of output, restarts and changes of the forcing.

A provisional step gives the state at a time within a step, and is then undone. A regular step that ended there would be
followed by a short step, with which the two-step formula is inaccurate: with stops at intervals of a fraction of a
second the error of NO2 over western Europe was 13 % after four hours. As provisional steps are undone, results are
bitwise identical wherever a run was stopped or observed.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from math import ceil, inf, isfinite, nan
from numbers import Real
from typing import Any, Final

import numpy as np

from airshed.case.case import RunCase
from airshed.core.alarm import INSTANT, Alarm
from airshed.core.errors import CaseError
from airshed.core.text import duration
from airshed.core.units import to
from airshed.runtime.model import Model, Snapshot

Until = str | float | timedelta | datetime | np.timedelta64 | np.datetime64 | None
"""Time to run to; None for the end of the case."""

_TIMES: Final = 'give seconds since the start, a text such as "6 h", or a date such as "2022-06-01T06:00"'


@dataclass(frozen=True)
class StepInfo:
    """Information for an observer after a batch of steps, which may be a single one.

    Attributes
    ----------
    time
        Time since the start of the case [s], negative in the spin-up.
    step, dt
        Number and length [s] of the last step.
    cells_per_second
        Cells advanced by a step, per second of wall time of the whole batch.
    fraction
        Completed part of the whole simulation, 0 to 1.
    """

    time: float
    step: int
    dt: float
    cells_per_second: float
    fraction: float


Observer = Callable[[StepInfo], object]

MOST_STEPS: Final = 2_000_000
"""Most steps between two due times: a month of steps of one second."""

_LEAST_PART: Final = 0.5
_ROUND_OFF: Final = 1e-9


def outputs_due(case: RunCase) -> list[Alarm]:
    """Return the schedules of the outputs of a case."""
    return [Alarm(each.every.value, first=0.0) for each in case.output]


def due_in(case: RunCase) -> list[Alarm]:
    """Return the schedules of outputs and restarts of a case, at which steps end."""
    return [*outputs_due(case), Alarm(case.restart.every.value)]


class Clock:
    """Ends of the steps from one change of the forcing to the next.

    due  schedules of output and restarts. Steps end at these times, too, unless the remaining part is shorter than
         half a step. Such a time is within a step, and a :class:`ProvisionalStep` gives the state there.

    bounded  whether the end of the run has determined a planned step: a longer run would take other ones

    The steps depend only on the case, not on the times at which a run was stopped, observed, or resumed.
    """

    def __init__(
        self, model: Model, due: Iterable[Alarm], end: float, planned: Sequence[float] = (), *, bounded: bool = False
    ) -> None:
        self.end, self.bounded = end, bounded
        self._model, self._due = model, tuple(due)
        self._planned = list(planned)

    @property
    def planned(self) -> list[float]:
        """Ends [s] of the planned steps, with which another clock can continue."""
        return [end for end in self._planned if end > self._model.seconds]

    def replan(self) -> None:
        """Discard the planned steps, as their conditions have changed."""
        self._planned = []

    def next_steps(self, look: float, most: int) -> list[float]:
        """Return the ends [s] of the next batch of steps: at most `most`, and none after `look`.

        The batch is empty if `look` is within the next step.
        """
        now = self._model.seconds
        if not self._planned or self._planned[-1] <= now:
            self._planned = self._divide(now, self.end)
            self.bounded = self.bounded or self._is_bounded(now)
        first = bisect_right(self._planned, now)
        return [end for end in self._planned[first : first + most] if end <= look + INSTANT]

    def _is_bounded(self, now: float) -> bool:
        """Return whether a longer run would divide the time from now on into other steps; collective."""
        change = self._model.next_change()
        if change <= self.end + INSTANT:
            return False
        endless = not isfinite(min(change, self._next_due(now)))
        try:
            return endless or self._divide(now, inf) != self._planned
        except CaseError:  # a longer run would have too many steps until its first due time
            return True

    def _divide(self, now: float, run_end: float) -> list[float]:
        hard = run_end, self._model.next_change()
        change = max(time for time in hard if time <= min(hard) + INSTANT)
        longest = self._model.longest_step(change)
        for time, after in pairwise(self._due_until(now, change)):
            gaps = time - now, after - time
            if min(gaps) >= _LEAST_PART * min(longest, max(gaps)):
                return self._equal_steps(now, time)
        return self._equal_steps(now, change)

    def _equal_steps(self, now: float, until: float) -> list[float]:
        longest = self._model.longest_step(until)
        if not (until - now) / longest < MOST_STEPS:  # also for NaN
            raise CaseError(
                f"from {duration(now)} to {duration(until)} the case takes steps of {longest:.3g} s, more than "
                f"{MOST_STEPS}; raise time.step, time.maximum_step or time.courant, or take larger cells "
                "(grid.spacing) or weaker wind"
            )
        count = max(1, ceil((until - now) / longest - _ROUND_OFF))
        step = (until - now) / count
        return [now + step * number for number in range(1, count)] + [until]

    def _due_until(self, now: float, change: float) -> Iterator[float]:
        """Yield the due times after `now`, then the time of the change."""
        time = self._next_due(now)
        while time < change - INSTANT:
            yield time
            time = self._next_due(time)
        yield change

    def _next_due(self, seconds: float) -> float:
        return min((every.next_after(seconds) for every in self._due), default=inf)


class ProvisionalStep:
    """Step of a model to a time within its next regular step, which is undone afterwards.

    left  state before the provisional step, from which the run continues; None without a provisional step
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.left: Snapshot | None = None

    def make(self, seconds: float) -> None:
        """Save the state, and advance to a time [s] by one step; collective over ranks."""
        self.left = self._model.save().copied()
        self._model.step_through([seconds])

    def undo(self) -> None:
        """Restore the state before the provisional step, if there is one; collective over ranks."""
        if self.left is not None:
            left, self.left = self.left, None
            self._model.restore(left)


def seconds_until(until: Until, start: np.datetime64, now: float, end: float) -> float:
    """Return a time as seconds since the start of a case; raises CaseError for a past time and one after the end.

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
    elif isinstance(until, str):
        seconds = _seconds_of(until)
    else:
        seconds = nan
    if not isfinite(seconds):
        raise CaseError(f"until = {until!r} is not a time; {_TIMES}")
    if seconds > end:
        raise CaseError(f"until = {until!r} is after the end of the case, {duration(end)}; lengthen time.length")
    if seconds < now - INSTANT:
        raise CaseError(f"until = {until!r} is past: the simulation is at {duration(now)}; give a later time")
    return seconds


def _seconds_of(until: str) -> float:
    """Return a duration as seconds, NaN for a text without a number; raises CaseError for a unit of no time."""
    if not any(each.isdigit() for each in until):
        return nan
    try:
        return to(until, "s", where="until")
    except CaseError as error:
        raise CaseError(f"{error}; {_TIMES}") from error


def _moment(until: object) -> Any:
    """Return a date as UTC, which is assumed without an offset; None for another value."""
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
