"""How far a session is to go, and who waits for it to be there."""

import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from airshed.core.errors import CaseError
from airshed.core.every import INSTANT
from airshed.core.units import to
from airshed.serve import types
from airshed.serve.hosted import Hosted

_UNITS = (86400.0, "d"), (3600.0, "h"), (60.0, "min")


@dataclass
class Goal:
    """A number of steps, or a time [s], whichever is given.

    pause  seconds from one step to the next at least
    due    when the next step may be made, by the clock of :func:`time.monotonic`
    """

    steps: int | None = None
    until: float | None = None
    pause: float = 0.0
    due: float = 0.0
    speed: float | None = None
    waiting: "list[Future[Any]]" = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, command: types.Step | types.Run, session: Hosted, present: "Goal | None") -> "Goal":
        """Return where a command leads from the present goal; raises CaseError where it cannot lead anywhere."""
        now, end = session.simulation.seconds, session.simulation.end
        if now >= end:
            raise CaseError(f"the case has ended, at {_span(end)}; restart it, or restore a snapshot")
        if isinstance(command, types.Run):
            until = _seconds(command.until, end)
            if until <= now:
                raise CaseError(f"until = {command.until!r} is past: it is {_span(now)}; restore a snapshot to go back")
            pause = 1.0 / command.steps_per_second if command.steps_per_second else 0.0
            return cls(until=until, pause=pause, waiting=[] if present is None else present.waiting)
        if present is not None and present.steps is None:
            raise CaseError("the session runs; pause it, then make steps")
        target = session.step if present is None or present.steps is None else present.steps
        return cls(steps=target + command.steps, waiting=[] if present is None else present.waiting)

    def most(self, session: Hosted) -> int:
        """Return how many steps may be made at once: where time or people decide, one after the other."""
        return 1 if self.steps is None else self.steps - session.step

    def made(self) -> None:
        """Note that a step was made."""
        now = time.monotonic()
        self.due = max(self.due + self.pause, now) if self.pause else 0.0
        self.speed = 1.0 / max(now - self._began, 1e-9)
        self._began = now

    def is_reached(self, session: Hosted) -> bool:
        """Whether the session is there, or at the end of the case."""
        now = session.simulation.seconds
        if now >= session.simulation.end:
            return True
        return session.step >= self.steps if self.steps is not None else now >= (self.until or 0.0) - INSTANT


def _seconds(until: float | str | None, end: float) -> float:
    if until is None:
        return end
    seconds = to(until, "s", where="until") if isinstance(until, str) else float(until)
    if seconds > end:
        raise CaseError(f"until = {until!r} lies beyond the end of the case, {_span(end)}")
    return float(seconds)


def _span(seconds: float) -> str:
    """Return a time after the start of the case as people write it, in the largest unit of which it has one."""
    size, unit = next((each for each in _UNITS if abs(seconds) >= each[0]), (1.0, "s"))
    return f"{seconds / size:.4g} {unit}"
