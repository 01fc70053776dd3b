"""Alarms at whole multiples of an interval: time steps end there, and output and restarts are written."""

from dataclasses import dataclass
from math import ceil, floor, inf
from typing import Final

INSTANT: Final = 1e-6
"""Times closer together than this [s] count as equal.

Multiples of 3599.4 s or 0.1 s are not exact in binary, and a step as short as their round-off would spoil the two-step
formula.
"""


@dataclass(frozen=True)
class Alarm:
    """Alarm at whole multiples of an interval [s], not before `first` [s]."""

    interval: float
    first: float = -inf

    def next_after(self, seconds: float) -> float:
        """Return the next alarm time [s] after a time."""
        due = (floor((seconds + INSTANT) / self.interval) + 1) * self.interval
        return due if due >= self.first else ceil(self.first / self.interval) * self.interval

    def is_due(self, seconds: float) -> bool:
        """Return whether a time [s] is an alarm time."""
        nearest = round(seconds / self.interval) * self.interval
        return seconds >= self.first and abs(seconds - nearest) <= INSTANT

    def last_until(self, seconds: float) -> int:
        """Return the number of the last alarm up to a time, 0 at time 0; 999 // 199.8 is 4, as 199.8 is not exact."""
        return floor((seconds + INSTANT) / self.interval)
