"""When the steps of a box end: at each output, at each jump of its conditions, and no longer than asked in between."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil, floor
from typing import Final

from airshed.air.box.conditions import BoxConditions
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import CaseError

MOST_STEPS: Final = 20_000_000
JUST_BEFORE: Final = 1e-6
"""Seconds before a jump at which a step that ends there takes its conditions: their limit from the left."""

_LARGEST_GROWTH: Final = 2.0  # of a step over the one before; the two-step formula is stable up to 1 + sqrt 2
_SAME: Final = 1e-6


@dataclass(frozen=True, slots=True)
class BoxStep:
    """One step [s, since local midnight of the first day].

    end       where it ends;  length  how long it is
    previous  length of the step before; None where the integration begins anew
    at        the time whose conditions it takes
    output    whether its end is an output
    """

    end: float
    length: float
    previous: float | None
    at: float
    output: bool


@dataclass(frozen=True, slots=True)
class Event:
    """A time [s] at which steps end: whether conditions jump there, and whether it is an output."""

    at: float
    jump: bool
    output: bool


def steps(conditions: BoxConditions, kinks: Iterable[float] = ()) -> Iterator[BoxStep]:
    """Yield all steps; raises CaseError when they are too many to ever end."""
    longest = conditions.solver.step.value
    _refuse_too_many(conditions, longest, f"steps of solver.step = {conditions.solver.step.text!r} or outputs")
    begin, previous = conditions.time.start.value, None
    for event in events(conditions, kinks):
        end = event.at
        count = max(1, ceil((end - begin) / longest - 1e-9))
        length = (end - begin) / count
        for number in range(1, count + 1):
            last = number == count
            if previous is not None and length > _LARGEST_GROWTH * previous:
                previous = None
            time = end if last else begin + number * length
            at = time - JUST_BEFORE if last and event.jump else time
            yield BoxStep(time, length, previous, at, last and event.output)
            previous = length
        begin = end
        if event.jump:
            previous = None


def events(conditions: BoxConditions, kinks: Iterable[float] = ()) -> list[Event]:
    """Return all events after the start, the end among them; kinks are times at which conditions are not smooth."""
    time = conditions.time
    start, end = time.start.value, time.start.value + time.length.value
    every = time.output_every.value
    _refuse_too_many(conditions, every, "outputs")
    days = range(floor(start / SECONDS_PER_DAY), ceil(end / SECONDS_PER_DAY)) if time.restarts else range(0)
    jumps = [day * SECONDS_PER_DAY + clock.value for day in days for clock in time.restarts]
    outputs = [start + number * every for number in range(1, ceil(time.length.value / every - 1e-9))]
    listed = [Event(end, False, True), *(Event(at, True, False) for at in jumps)]
    listed += [Event(at, False, True) for at in outputs] + [Event(at, False, False) for at in kinks]
    same = max(_SAME, 1e-12 * end)
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


def _refuse_too_many(conditions: BoxConditions, longest: float, what: str) -> None:
    time = conditions.time
    if time.length.value / min(longest, time.output_every.value) > MOST_STEPS:
        raise CaseError(
            f"time.length = {time.length.text!r} takes more than {MOST_STEPS} {what}; make it shorter or them longer"
        )
