"""Cuts simulated time into steps that end exactly where something is due."""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final

from airshed.core.errors import CaseError
from airshed.core.every import INSTANT, Every
from airshed.core.protocols import Model

_ROUND_OFF: Final = 1e-9
MOST_STEPS: Final = 2_000_000
"""Steps from one due time to the next: a month of steps of a second."""


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
        return self.next_steps(until, 1)[0]

    def next_steps(self, until: float, most: int) -> list[float]:
        """Return the times [s] at which the next steps end: `most` of them, or those until the next due time.

        There is at least one. `until` is one more due time; how many are asked for changes none of them. Raises
        CaseError for steps so short that no run would end.
        """
        now = self._model.seconds
        if not self._stretch or self._stretch[-1] <= now or self._stretch[-1] > until > now:
            self._stretch = self._divide(now, until)
        while self._stretch[0] <= now:
            del self._stretch[0]
        return self._stretch[:most]

    def _divide(self, now: float, until: float) -> list[float]:
        events = [until, self.end, self._model.next_change(), *(every.next_after(now) for every in self._due)]
        first = min(events)
        target = max(event for event in events if event <= first + INSTANT)
        longest = self._model.longest_step(target)
        if not (target - now) / longest < MOST_STEPS:  # also where it is no number
            raise CaseError(
                f"from {now:g} s to {target:g} s the case takes steps of {longest:.3g} s, more than {MOST_STEPS}; "
                "raise time.step, time.longest or time.courant, or take larger cells (grid.spacing) or weaker winds"
            )
        count = max(1, ceil((target - now) / longest - _ROUND_OFF))
        step = (target - now) / count
        return [now + step * number for number in range(1, count)] + [target]
