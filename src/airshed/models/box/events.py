"""The times at which steps of boxes end: outputs, jumps of the conditions, and times at which they are not smooth."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor
from typing import Final

from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import CaseError
from airshed.core.every import INSTANT
from airshed.models.box.conditions import BoxConditions
from airshed.runtime.clock import MOST_STEPS as MOST_BETWEEN

MOST_STEPS: Final = 20_000_000
JUST_BEFORE: Final = 1e-6
"""Seconds before a jump at which a step that ends there takes its conditions: their limit from the left."""


@dataclass(frozen=True, slots=True)
class Event:
    """A time [s since local midnight of the first day]: whether conditions jump there, and whether it is an output."""

    at: float
    jump: bool = False
    output: bool = False


@dataclass(frozen=True, slots=True)
class BoxStep:
    """A step between two times [s since local midnight of the first day].

    end  the time, and whether conditions jump there: what comes then starts without a history
    """

    begin: float
    end: Event

    @property
    def at(self) -> float:
        """The time whose conditions are those at the end of the step."""
        return self.end.at - JUST_BEFORE if self.end.jump else self.end.at


def distance(end: float) -> float:
    """Return the time [s] within which two events of a run that ends at a time [s] are one."""
    return max(INSTANT, 1e-12 * end)


def events(conditions: BoxConditions, corners: Iterable[float] = ()) -> list[Event]:
    """Return the events after the start, with the end; raises CaseError for too many steps.

    corners  times at which conditions are not smooth
    """
    _refuse_too_many(conditions)
    time = conditions.time
    start, end = time.start.value, time.start.value + time.length.value
    days = range(floor(start / SECONDS_PER_DAY), ceil(end / SECONDS_PER_DAY)) if time.restarts else range(0)
    listed = [Event(end, output=True), *(Event(at) for at in corners)]
    listed += [Event(day * SECONDS_PER_DAY + clock.value, jump=True) for day in days for clock in time.restarts]
    due = [(time.output_every.value, True), *((each.every.value, False) for each in conditions.output)]
    for every, output in due:
        count = ceil(time.length.value / every - 1e-9)
        listed += [Event(start + number * every, output=output) for number in range(1, count)]
    same = distance(end)
    merged: list[Event] = []
    for event in sorted(listed, key=lambda event: event.at):
        if event.at <= start + same or event.at > end:
            continue
        if merged and event.at - merged[-1].at < same:
            last = merged[-1]
            at = end if end - event.at < same else event.at
            merged[-1] = Event(at, last.jump or event.jump, last.output or event.output)
        else:
            merged.append(event)
    return merged


def _refuse_too_many(conditions: BoxConditions) -> None:
    time, solver = conditions.time, conditions.solver
    length, every = time.length.value, time.output_every.value
    by_steps = solver.method == "gauss-seidel"
    longest = min(solver.step.value, every) if by_steps else every
    between = min(length, every) / solver.step.value if by_steps else 0.0
    if length / longest > MOST_STEPS or between > MOST_BETWEEN:
        what = f"steps of solver.step = {solver.step.text!r} or outputs" if by_steps else "outputs"
        most = MOST_STEPS if length / longest > MOST_STEPS else MOST_BETWEEN
        raise CaseError(
            f"time.length = {time.length.text!r} takes more than {most} {what}; make it shorter or them longer"
        )
