"""Checkpoint plans: the number of steps that fit into a budget, and the actions that run and reverse them.

Let h restarts be stored, the last one at the beginning of a span, and let L(h) be the number of levels that still fit.
A span of

    C(1, h) = L(h)                                      steps is run once, each level stored
    C(t, h) = C(t-1, h) + C(t-1, h+1) + ...             steps is cut by further restarts, no step run more than t times

so that C(t, h) = C(t-1, h) + C(t, h+1). If a level is as large as a restart, and s restarts
fit, this is the binomial coefficient (s + t - 1 over t) of Revolve. Here a level is smaller, so a stretch of many
levels ends each branch. See Griewank & Walther 2000, ACM TOMS 26, 19-45.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Final, Literal

from airshed.core.errors import CaseError
from airshed.inverse.checkpoints.actions import (
    Action,
    Advance,
    DiscardLevels,
    DiscardRestart,
    Place,
    Plan,
    Restore,
    Reverse,
    Sizes,
)

MOST_RESTARTS: Final = 4096
"""Maximum number of stored restarts: more have no benefit."""

MOST_REPETITIONS: Final = 100
"""Maximum number of times that a step is run forward."""


@dataclass(frozen=True)
class Budget:
    """Budget for checkpoints in memory and on disk.

    memory    [bytes]
    disk      [bytes]
    levels    store of levels
    restarts  store of restarts; "both" is the disk until its budget is used up, then memory
    """

    sizes: Sizes
    memory: int
    disk: int = 0
    levels: Place = "memory"
    restarts: Place | Literal["both"] = "both"

    def place(self, number: int) -> Place:
        """Return the store of the `number`-th of the restarts stored at the same time, counted from 1."""
        return "disk" if self._on_disk(number) == number else "memory"

    def levels_with(self, held: int) -> int:
        """Return the number of levels that fit in addition to `held` restarts; 0 where the restarts do not fit."""
        on_disk, size = self._on_disk(held), self.sizes.restart
        disk, memory = self.disk - on_disk * size, self.memory - (held - on_disk) * size
        if disk < 0 or memory < 0 or held > MOST_RESTARTS:
            return 0
        return (memory if self.levels == "memory" else disk) // self.sizes.level

    def _on_disk(self, held: int) -> int:
        if self.restarts == "both":
            return min(held, self.disk // self.sizes.restart)
        return held if self.restarts == "disk" else 0


@dataclass
class Capacities:
    """Number of steps C(t, h) that can be reversed with t repetitions and h stored restarts, see this module."""

    budget: Budget
    _rows: list[list[int]] = field(init=False)

    def __post_init__(self) -> None:
        first: list[int] = []
        while (fit := self.budget.levels_with(len(first) + 1)) > 0:
            first.append(fit)
        self._rows = [first]

    def of(self, repetitions: int, held: int) -> int:
        """Return C(t, h)."""
        while len(self._rows) < repetitions:
            self._rows.append(list(accumulate(reversed(self._rows[-1])))[::-1])
        row = self._rows[repetitions - 1]
        return row[held - 1] if held <= len(row) else 0

    def repetitions(self, steps: int, held: int = 1) -> int:
        """Return the maximum number of forward runs of a step, at least 1; raises CaseError for more than a hundred."""
        for repetitions in range(1, MOST_REPETITIONS + 1):
            if self.of(repetitions, held) >= steps:
                return repetitions
        raise self.too_little(steps)

    def cut(self, steps: int, held: int = 1) -> list[int]:
        """Return the lengths of the spans into which a span is cut; a single one where its levels fit.

        There are as few spans as the repetitions allow. The last ones, during which most restarts are stored, have
        their maximum length. The longest possible stretch is then reversed without being repeated.
        """
        repetitions = self.repetitions(steps, held)
        if repetitions == 1:
            return [steps]
        full: list[int] = []
        while sum(full) < steps:
            full.append(self.of(repetitions - 1, held + len(full)))
        return [steps - sum(full[1:]), *full[1:]]

    def too_little(self, steps: int) -> CaseError:
        """Return the error for a budget with which the run would take too long."""
        budget = self.budget
        return CaseError(
            f"adjoint.memory and adjoint.disk leave {(budget.memory + budget.disk) / 1e9:.3g} GB for checkpoints of "
            f"{steps} steps; a restart takes {budget.sizes.restart / 1e9:.3g} GB and a level "
            f"{budget.sizes.level / 1e9:.3g} GB: a step would be run more than {MOST_REPETITIONS} times; increase them"
        )


_NAMES: Final = {1: "all levels", 2: "two levels"}


def fewest_repetitions(steps: int, budget: Budget) -> Plan:
    """Return the plan that minimises the maximum number of forward runs of a step within the budget.

    It stores all levels where they fit, and otherwise uses two or more levels of checkpointing. Raises CaseError where
    a step would be run more than a hundred times.
    """
    capacities = Capacities(budget)
    repetitions = capacities.repetitions(steps)
    name = _NAMES.get(repetitions, f"{repetitions} levels")
    place = budget.place(1)
    start, end = Advance(0, 0, restarts=(0,), store=place), DiscardRestart(0, place)
    return Plan(name, steps, (start, *reverse_span(0, steps, 1, capacities, is_there=True), end))


def reverse_span(
    first: int, last: int, held: int, capacities: Capacities, *, is_there: bool = False
) -> Iterator[Action]:
    """Yield the actions that reverse a span of steps; a restart is stored before its first step.

    held      number of stored restarts, that one included
    is_there  whether the model is at the state before the first step; otherwise it is restored
    """
    place = capacities.budget.place
    if not is_there:
        yield Restore(first, place(held))
    lengths = capacities.cut(last - first, held)
    if len(lengths) == 1:
        levels = capacities.budget.levels
        yield Advance(first, last, save_levels=True, store=levels)
        yield from (Reverse(first, last), DiscardLevels(first, last, levels))
        return
    ends = list(accumulate(lengths, initial=first))
    spans = list(enumerate(pairwise(ends), held))
    for number, (start, end) in spans[:-1]:
        yield Advance(start, end, restarts=(end,), store=place(number + 1))
    for number, (start, end) in reversed(spans):
        yield from reverse_span(start, end, number, capacities, is_there=end == last)
        if start > first:
            yield DiscardRestart(start, place(number))


class AllLevelsPlan:
    """Plan that stores every level of the forward run and repeats no step.

    Levels are stored in memory first if the budget places them there, then on disk. Like :class:`OnlinePlan` it can be
    executed before the number of steps is known.
    """

    name = "all levels"

    def __init__(self, budget: Budget) -> None:
        self._budget, self._restart = budget, budget.place(1)
        here, on_disk = budget.levels_with(1), replace(budget, levels="disk").levels_with(1)
        self._most = {budget.levels: here} | ({"disk": on_disk} if budget.levels == "memory" else {})

    def first_run(self) -> Iterator[Action]:
        """Yield the actions that store a restart and all levels; the end of the run shortens the last advance.

        Raises CaseError where the budget is used up.
        """
        yield Advance(0, 0, restarts=(0,), store=self._restart)
        for place, first, last in self._spans():
            yield Advance(first, last, save_levels=True, store=place)
        sizes, steps = self._budget.sizes, sum(self._most.values())
        raise CaseError(
            f'adjoint.plan = "all" stores every level, but adjoint.memory and adjoint.disk have space for {steps} of '
            f'{sizes.level / 1e9:.3g} GB and a restart; set plan = "auto", or increase them'
        )

    def backward(self, steps: int) -> Iterator[Action]:
        """Yield the actions that reverse a run of this number of steps, as one stretch."""
        yield Reverse(0, steps)
        stored = [(first, min(last, steps), place) for place, first, last in self._spans() if first < steps]
        yield from (DiscardLevels(*each) for each in stored)
        yield DiscardRestart(0, self._restart)

    def _spans(self) -> Iterator[tuple[Place, int, int]]:
        """Yield the stores of levels with their first and last steps."""
        first = 0
        for place, most in self._most.items():
            if most:
                yield place, first, first + most
            first += most


class OnlinePlan:
    """Plan that stores restarts in the forward run, with a spacing that doubles when the budget is used up.

    Before each restart a check ensures that a stretch can still be reversed after it is stored. If not, every second
    restart is dropped and the spacing doubles. If that does not help, the steps of a stretch are repeated once more.

    expected  estimated number of steps of the run: it determines the initial spacing of restarts, and the levels of
              stretches that end there or later are stored in the forward run; a wrong estimate only costs time

    After Wang, Moin & Iaccarino 2009, SIAM J. Sci. Comput. 31, 2549-2567: restarts for an unknown number of steps.
    """

    name = "online"

    def __init__(self, budget: Budget, expected: int | None = None) -> None:
        on_disk = budget.disk >= 2 * budget.sizes.restart
        self._budget = replace(budget, restarts="disk" if on_disk else "memory")
        self._capacities = Capacities(self._budget)
        self._place = self._budget.place(1)
        # The largest spacing with which the restarts of a quarter more steps leave space for a stretch.
        steps, of = (expected or 0) + (expected or 0) // 4, self._capacities.of
        self._spacing = next((each for each in range(steps, 1, -1) if of(1, -(-steps // each)) >= each), 1)
        self._expected = expected
        self._repetitions = 1
        self._restarts: list[int] = []
        self._levels: list[tuple[int, int]] = []

    def first_run(self) -> Iterator[Action]:
        """Yield actions indefinitely; see :meth:`AllLevelsPlan.first_run`."""
        yield from self._save(0)
        step = 0
        while True:
            end = (step // self._spacing + 1) * self._spacing
            stores_levels = self._stores_levels(step, end)
            if stores_levels:
                self._levels.append((step, end))
            else:
                yield from self._drop_levels()
            yield Advance(step, end, save_levels=stores_levels, store=self._budget.levels)
            step = end
            yield from self._thin(step)
            if step % self._spacing == 0:
                yield from self._drop_levels()
                yield from self._save(step)

    def backward(self, steps: int) -> Iterator[Action]:
        """Yield the actions that reverse a run of this number of steps, stretch by stretch."""
        stored = [(first, min(last, steps)) for first, last in self._levels]
        end = steps
        for held, first in reversed(list(enumerate(self._restarts, 1))):
            if stored:
                yield Reverse(first, end)
                yield from (DiscardLevels(*levels, self._budget.levels) for levels in stored)
            else:
                yield from reverse_span(first, end, held, self._capacities)
            yield DiscardRestart(first, self._place)
            end, stored = first, []

    def _stores_levels(self, step: int, end: int) -> bool:
        """Return whether to store the levels of the next steps: those of a whole stretch at the expected end."""
        if self._expected is None or end < self._expected:
            return False
        fits = self._capacities.of(1, len(self._restarts)) >= self._spacing
        return fits and (step == self._restarts[-1] or bool(self._levels))

    def _save(self, step: int) -> Iterator[Action]:
        self._restarts.append(step)
        yield Advance(step, step, restarts=(step,), store=self._place)

    def _thin(self, step: int) -> Iterator[Action]:
        """Drop restarts until one more restart and a stretch fit."""
        while not self._fits(len(self._restarts) + 1, self._spacing):
            if not self._fits(len(self._restarts) // 2 + 1, 2 * self._spacing):
                if self._repetitions == MOST_REPETITIONS:
                    raise self._capacities.too_little(step)
                self._repetitions += 1
                continue
            self._spacing *= 2
            dropped = [each for each in self._restarts if each % self._spacing]
            self._restarts = [each for each in self._restarts if each % self._spacing == 0]
            if dropped and self._levels and dropped[-1] == self._levels[0][0]:
                yield from self._drop_levels()
            yield from (DiscardRestart(each, self._place) for each in dropped)

    def _fits(self, restarts: int, spacing: int) -> bool:
        return self._capacities.of(self._repetitions, restarts) >= spacing

    def _drop_levels(self) -> Iterator[Action]:
        yield from (DiscardLevels(*levels, self._budget.levels) for levels in self._levels)
        self._levels = []


def checkpoint_plan(name: str, budget: Budget, expected: int | None = None) -> AllLevelsPlan | OnlinePlan:
    """Return the plan of a name in the case file.

    `auto` minimises the maximum number of forward runs of a step, by an estimate of the number of steps; `two-level`
    does not use an estimate. Levels are on disk only with a store on disk: writing and reading a level takes longer
    than running its step.
    """
    if name == "all":
        return AllLevelsPlan(budget)
    return OnlinePlan(budget, expected if name == "auto" else None)


def as_executed(plan: AllLevelsPlan | OnlinePlan, steps: int) -> Plan:
    """Return the plan with all its actions for a run with a known number of steps."""
    actions: list[Action] = []
    for action in plan.first_run():
        if isinstance(action, Advance) and action.last >= steps:
            actions.append(replace(action, last=steps))
            break
        actions.append(action)
    return Plan(plan.name, steps, (*actions, *plan.backward(steps)))
