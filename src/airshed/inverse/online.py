"""The checkpoint plans of a run whose number of steps is known at its end, because steps adapt."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Protocol

from airshed.core.errors import CaseError
from airshed.inverse.actions import (
    Action,
    Advance,
    DiscardLevels,
    DiscardRestart,
    Place,
    Plan,
    Reverse,
)
from airshed.inverse.plans import reverse_span
from airshed.inverse.room import MOST_REPETITIONS, Capacities, Room


class FromStep(Protocol):
    """A plan that is followed without knowing how many steps there will be."""

    name: str

    def first_run(self) -> Iterator[Action]:
        """Yield actions; take the next one when the last one is done, and none after the run's end.

        The end of the run may lie within an :class:`Advance`, which is then cut short. Raises CaseError where there is
        no room to go on.
        """
        ...

    def backward(self, steps: int) -> Iterator[Action]:
        """Yield the actions that reverse a run of this number of steps, after its last forward action."""
        ...


class EveryLevel:
    """Plan that stores every level of the first run and repeats no step: in memory if levels go there, then on disk."""

    name = "all levels"

    def __init__(self, room: Room) -> None:
        self._room, self._restart = room, room.place(1)
        here, on_disk = room.levels_beside(1), replace(room, levels="disk").levels_beside(1)
        self._most = {room.levels: here} | ({"disk": on_disk} if room.levels == "memory" else {})

    def first_run(self) -> Iterator[Action]:
        """Yield a restart and all levels; see :class:`FromStep`."""
        yield Advance(0, 0, restarts=(0,), store=self._restart)
        for place, first, last in self._spans():
            yield Advance(first, last, save_levels=True, store=place)
        sizes, steps = self._room.sizes, sum(self._most.values())
        raise CaseError(
            f'adjoint.plan = "all" stores every level, and adjoint.memory and adjoint.disk hold {steps} of '
            f'{sizes.level / 1e9:.3g} GB and a restart; take plan "auto", or give more'
        )

    def backward(self, steps: int) -> Iterator[Action]:
        """Yield one stretch; see :class:`FromStep`."""
        yield Reverse(0, steps)
        kept = [(first, min(last, steps), place) for place, first, last in self._spans() if first < steps]
        yield from (DiscardLevels(*each) for each in kept)
        yield DiscardRestart(0, self._restart)

    def _spans(self) -> Iterator[tuple[Place, int, int]]:
        """Yield where levels are stored, from the first to the last step of each place."""
        first = 0
        for place, most in self._most.items():
            if most:
                yield place, first, first + most
            first += most


class OnlinePlan:
    """Plan that stores restarts in the first run, with a spacing that doubles when the room is used up.

    Before each restart a check ensures that a stretch can still be reversed with it in store. If not, every second
    restart is dropped and the spacing doubles; if that does not help, the steps of a stretch will be run once more
    often.

    expected  about how many steps the run will have: restarts begin with the spacing that it requires, and the levels
              of the stretches that end there or later are stored at once; a wrong number costs time, never more
    See :class:`FromStep`.
    After Wang, Moin & Iaccarino 2009, SIAM J. Sci. Comput. 31, 2549-2567, who place restarts without knowing the end.
    """

    name = "online"

    def __init__(self, room: Room, expected: int | None = None) -> None:
        on_disk = room.disk >= 2 * room.sizes.restart
        self._room = replace(room, restarts="disk" if on_disk else "memory")
        self._capacities = Capacities(self._room)
        self._place = self._room.place(1)
        self._expected, self._spacing = expected, self._first_spacing(expected)
        self._repetitions = 1
        self._restarts: list[int] = []
        self._levels: list[tuple[int, int]] = []

    def first_run(self) -> Iterator[Action]:
        """Yield actions without end; see :class:`FromStep`."""
        yield from self._save(0)
        step = 0
        while True:
            end = (step // self._spacing + 1) * self._spacing
            is_kept = self._keeps(step, end)
            if is_kept:
                self._levels.append((step, end))
            else:
                yield from self._drop_levels()
            yield Advance(step, end, save_levels=is_kept, store=self._room.levels)
            step = end
            yield from self._thin(step)
            if step % self._spacing == 0:
                yield from self._drop_levels()
                yield from self._save(step)

    def backward(self, steps: int) -> Iterator[Action]:
        """Yield stretch after stretch; see :class:`FromStep`."""
        kept = [(first, min(last, steps)) for first, last in self._levels]
        end = steps
        for held, first in reversed(list(enumerate(self._restarts, 1))):
            if kept:
                yield Reverse(first, end)
                yield from (DiscardLevels(*levels, self._room.levels) for levels in kept)
            else:
                yield from reverse_span(first, end, held, self._capacities)
            yield DiscardRestart(first, self._place)
            end, kept = first, []

    def _first_spacing(self, expected: int | None) -> int:
        """Return the greatest spacing with which the restarts of a quarter more steps leave room for a stretch."""
        steps = (expected or 0) + (expected or 0) // 4
        return next((each for each in range(steps, 1, -1) if self._capacities.of(1, -(-steps // each)) >= each), 1)

    def _keeps(self, step: int, end: int) -> bool:
        """Whether the levels of the next steps are stored: at the expected end, with all before in their stretch."""
        if self._expected is None or end < self._expected:
            return False
        fits = self._capacities.of(1, len(self._restarts)) >= self._spacing
        return fits and (step == self._restarts[-1] or bool(self._levels))

    def _save(self, step: int) -> Iterator[Action]:
        self._restarts.append(step)
        yield Advance(step, step, restarts=(step,), store=self._place)

    def _thin(self, step: int) -> Iterator[Action]:
        """Drop restarts until one more, and a stretch, fit."""
        while not self._fits(len(self._restarts) + 1, self._spacing):
            if not self._fits(len(self._restarts) // 2 + 1, 2 * self._spacing):
                self._repeat_more(step)
                continue
            self._spacing *= 2
            dropped = [each for each in self._restarts if each % self._spacing]
            self._restarts = [each for each in self._restarts if each % self._spacing == 0]
            if dropped and self._levels and dropped[-1] == self._levels[0][0]:
                yield from self._drop_levels()
            yield from (DiscardRestart(each, self._place) for each in dropped)

    def _fits(self, restarts: int, spacing: int) -> bool:
        return self._capacities.of(self._repetitions, restarts) >= spacing

    def _repeat_more(self, step: int) -> None:
        """Let the steps of a stretch be run once more often; raises CaseError for more than anybody waits."""
        if self._repetitions == MOST_REPETITIONS:
            raise self._capacities.too_little(step)
        self._repetitions += 1

    def _drop_levels(self) -> Iterator[Action]:
        yield from (DiscardLevels(*levels, self._room.levels) for levels in self._levels)
        self._levels = []


def as_executed(plan: FromStep, steps: int) -> Plan:
    """Return all that a plan does with a run that has so many steps."""
    actions: list[Action] = list(_until(steps, plan.first_run()))
    return Plan(plan.name, steps, (*actions, *plan.backward(steps)))


def _until(steps: int, actions: Iterable[Action]) -> Iterator[Action]:
    for action in actions:
        if isinstance(action, Advance) and action.last >= steps:
            yield replace(action, last=steps)
            return
        yield action
