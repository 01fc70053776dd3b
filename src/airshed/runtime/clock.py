"""Cuts simulated time into steps, and says when there is something to be done between them."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from typing import Final

from airshed.core.every import INSTANT, Every
from airshed.core.protocols import Model

_LEAST_PART: Final = 0.5


class Clock:
    """The times at which steps end, from one change of the forcing to the next.

    due  when output and restarts are due. Steps end there, too, unless that left a part shorter than half a step. The
         time then lies amid a step; who wants to look there takes a step aside, see :mod:`airshed.runtime.aside`.

    The steps depend on the case alone, not on when a run was stopped, looked at, or resumed.
    """

    def __init__(self, model: Model, due: Iterable[Every], end: float, stretch: Sequence[float] = ()) -> None:
        self.end = end
        self._model, self._due = model, tuple(due)
        self._stretch = list(stretch)

    @property
    def stretch(self) -> list[float]:
        """The ends [s] of the steps that are planned from here on: what another clock needs to go on."""
        return [end for end in self._stretch if end > self._model.seconds]

    def next_steps(self, look: float, most: int) -> list[float]:
        """Return the times [s] at which the next steps end: `most` of them, and none that ends after `look`.

        So there is none where somebody looks amid the next step.
        """
        now = self._model.seconds
        if not self._stretch or self._stretch[-1] <= now:
            self._stretch = self._divide(now)
        first = bisect_right(self._stretch, now)
        return [end for end in self._stretch[first : first + most] if end <= look + INSTANT]

    def _divide(self, now: float) -> list[float]:
        hard = self.end, self._model.next_change()
        change = max(time for time in hard if time <= min(hard) + INSTANT)
        ends = self._model.step_ends(change)
        longest = max(after - before for before, after in pairwise([now, *ends]))
        for time, after in pairwise(self._due_until(now, change)):
            gaps = time - now, after - time
            if min(gaps) >= _LEAST_PART * min(longest, max(gaps)):
                return self._model.step_ends(time)
        return ends

    def _due_until(self, now: float, change: float) -> Iterator[float]:
        """The times after `now` at which something is due, then that of the change."""
        time = self._next_due(now)
        while time < change - INSTANT:
            yield time
            time = self._next_due(time)
        yield change

    def _next_due(self, seconds: float) -> float:
        return min((every.next_after(seconds) for every in self._due), default=inf)
