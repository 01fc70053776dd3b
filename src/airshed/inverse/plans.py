"""Checkpoint plans of a run whose number of steps is known."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Final

from airshed.core.errors import CaseError
from airshed.inverse.actions import (
    Action,
    Advance,
    DiscardLevels,
    DiscardRestart,
    Plan,
    Restore,
    Reverse,
)
from airshed.inverse.room import Capacities, Room

_NAMES: Final = {1: "all levels", 2: "two levels"}


def two_levels(steps: int, room: Room) -> Plan:
    """Return the plan with restarts in the first run, then stretch after stretch from the last to the first.

    Each stretch but the last is run again once, and its levels are stored. With K + 1 restarts stretch k has up to L(k
    + 1) levels: as restarts are dropped, stretches get longer. The greatest memory is near sqrt(2 N R Q), where
    stretches of equal length m = sqrt(N R / Q) would take 2 sqrt(N R Q) for N steps, restarts of R and levels of Q
    bytes.

    Raises CaseError where that is more than there is.
    """
    capacities = Capacities(room)
    if capacities.of(2, 1) < steps:
        need = least_memory(steps, room, repetitions=2)
        raise CaseError(
            f'adjoint.plan = "two-level" needs {need / 1e9:.3g} GB for {steps} steps; give adjoint.memory so much, or '
            'take plan "auto"'
        )
    return Plan("two levels", steps, tuple(_with_start(steps, capacities)))


def fewest_repetitions(steps: int, room: Room) -> Plan:
    """Return the plan in which the step that is run most often is run as rarely as the room allows.

    All levels where they fit, else two levels where these fit, else as many as it takes. Raises CaseError where a step
    would be run more than a hundred times.
    """
    capacities = Capacities(room)
    repetitions = capacities.repetitions(steps)
    name = _NAMES.get(repetitions, f"{repetitions} levels")
    return Plan(name, steps, tuple(_with_start(steps, capacities)))


def least_memory(steps: int, room: Room, repetitions: int) -> int:
    """Return the least memory [bytes] with which no step is run more often, whatever that of the room."""
    least, enough = 0, room.sizes.restart + steps * room.sizes.level
    while least < enough:
        middle = (least + enough) // 2
        if Capacities(replace(room, memory=middle)).of(repetitions, 1) >= steps:
            enough = middle
        else:
            least = middle + 1
    return enough


def _with_start(steps: int, capacities: Capacities) -> Iterator[Action]:
    place = capacities.room.place(1)
    yield Advance(0, 0, restarts=(0,), store=place)
    yield from reverse_span(0, steps, 1, capacities, is_there=True)
    yield DiscardRestart(0, place)


def reverse_span(
    first: int, last: int, held: int, capacities: Capacities, *, is_there: bool = False
) -> Iterator[Action]:
    """Yield the actions that reverse a span of steps, before the first of which a restart is stored.

    held      stored restarts, that one included
    is_there  whether the model is before the first step; else it is restored
    """
    place = capacities.room.place
    if not is_there:
        yield Restore(first, place(held))
    lengths = capacities.cut(last - first, held)
    if len(lengths) == 1:
        yield from reverse_stretch(first, last, capacities.room)
        return
    ends = list(accumulate(lengths, initial=first))
    spans = list(enumerate(pairwise(ends), held))
    for number, (start, end) in spans[:-1]:
        yield Advance(start, end, restarts=(end,), store=place(number + 1))
    for number, (start, end) in reversed(spans):
        yield from reverse_span(start, end, number, capacities, is_there=end == last)
        if start > first:
            yield DiscardRestart(start, place(number))


def reverse_stretch(first: int, last: int, room: Room) -> Iterator[Action]:
    """Yield the actions that run a stretch with its levels stored, and reverse it."""
    yield Advance(first, last, save_levels=True, store=room.levels)
    yield from (Reverse(first, last), DiscardLevels(first, last, room.levels))
