"""Cuts simulated time into steps that end exactly where something is due."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, inf
from typing import Final

from airshed.core.protocols import Model

_ROUND_OFF: Final = 1e-9

INSTANT: Final = 1e-6
"""Due times closer together than this [s] are one: multiples of 3599.4 s or 0.1 s are not exact in binary numbers, and
a step of their round-off alone would ruin the two-step formula."""


@dataclass(frozen=True)
class Every:
    """Something due at whole multiples of an interval [s], from `first` [s] on."""

    interval: float
    first: float = -inf

    def next_after(self, seconds: float) -> float:
        """The next due time after a time."""
        due = (floor((seconds + INSTANT) / self.interval) + 1) * self.interval
        return due if due >= self.first else ceil(self.first / self.interval) * self.interval

    def is_due(self, seconds: float) -> bool:
        """Whether it is due at a time."""
        nearest = round(seconds / self.interval) * self.interval
        return seconds >= self.first and abs(seconds - nearest) <= INSTANT


class Clock:
    """The times at which steps end: equal steps from one due time, or change of the forcing, to the next.

    The division into steps depends on the case alone, not on when a run was stopped and resumed: due times are
    multiples of fixed intervals, and each stretch between two of them is divided as a whole.
    """

    def __init__(self, model: Model, due: Iterable[Every], end: float, stretch: Sequence[float] = ()) -> None:
        self.end = end
        self._model, self._due = model, tuple(due)
        self._stretch = list(stretch)

    @property
    def stretch(self) -> list[float]:
        """The ends [s] of the steps that are left until the next due time: what another clock needs to go on."""
        return [end for end in self._stretch if end > self._model.seconds]

    def next_step(self, until: float) -> float:
        """Return the time [s] at which the next step ends; `until` is one more due time."""
        now = self._model.seconds
        if not self._stretch or self._stretch[-1] <= now or self._stretch[-1] > until > now:
            self._stretch = self._divide(now, until)
        while self._stretch[0] <= now:
            del self._stretch[0]
        return self._stretch[0]

    def _divide(self, now: float, until: float) -> list[float]:
        events = [until, self.end, self._model.next_change(), *(every.next_after(now) for every in self._due)]
        first = min(events)
        target = max(event for event in events if event <= first + INSTANT)
        longest = self._model.longest_step(target)
        count = max(1, ceil((target - now) / longest - _ROUND_OFF))
        step = (target - now) / count
        return [now + step * number for number in range(1, count)] + [target]
