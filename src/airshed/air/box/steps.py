"""When the steps of a box end: at each output, at each jump of its conditions, and no longer than asked in between."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
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


def steps(conditions: BoxConditions) -> Iterator[BoxStep]:
    """Yield all steps; raises CaseError when they are too many to ever end."""
    longest = conditions.solver.step.value
    if conditions.time.length.value / min(longest, conditions.time.output_every.value) > MOST_STEPS:
        raise CaseError(
            f"time.length = {conditions.time.length.text!r} takes more than {MOST_STEPS} steps of solver.step = "
            f"{conditions.solver.step.text!r} or outputs; make it shorter or them longer"
        )
    begin, previous = conditions.time.start.value, None
    for end, jump, output in _events(conditions):
        count = ceil((end - begin) / longest - 1e-9)
        length = (end - begin) / count
        for number in range(1, count + 1):
            last = number == count
            if previous is not None and length > _LARGEST_GROWTH * previous:
                previous = None
            time = end if last else begin + number * length
            yield BoxStep(time, length, previous, time - JUST_BEFORE if last and jump else time, last and output)
            previous = length
        begin = end
        if jump:
            previous = None


def _events(conditions: BoxConditions) -> list[tuple[float, bool, bool]]:
    """Return time, whether conditions jump, and whether it is an output, of every event after the start."""
    time = conditions.time
    start, end = time.start.value, time.start.value + time.length.value
    jumps = [
        day * SECONDS_PER_DAY + clock.value for day in range(ceil(end / SECONDS_PER_DAY)) for clock in time.restarts
    ]
    every = time.output_every.value
    outputs = [start + number * every for number in range(1, ceil(time.length.value / every - 1e-9))]
    times = sorted(
        [(end, False, True), *((jump, True, False) for jump in jumps), *((at, False, True) for at in outputs)]
    )
    merged: list[tuple[float, bool, bool]] = []
    for at, jump, output in times:
        if at <= start + _SAME or at > end:
            continue
        if merged and at - merged[-1][0] < _SAME:
            merged[-1] = (end if end - at < _SAME else at, merged[-1][1] or jump, merged[-1][2] or output)
        else:
            merged.append((at, jump, output))
    return merged
