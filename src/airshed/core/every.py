"""What is due at whole multiples of an interval: steps end there, output and restarts are written then."""

from dataclasses import dataclass
from math import ceil, floor, inf
from typing import Final

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

    def last_until(self, seconds: float) -> int:
        """The number of the last due time up to a time, 0 at the time 0; 999 // 199.8 is 4, as 199.8 is not exact."""
        return floor((seconds + INSTANT) / self.interval)
