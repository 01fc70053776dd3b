"""A budget that follows the steps a little behind them, so that no rank waits for the sums of a step to come together.

With several ranks the sums of a stretch of steps over all of them take two messages. They travel while the next
stretches are made, so that a rank that is late for a moment holds up its neighbours alone, and these only once they
need what it computes.

Budgets follow many steps at once: after each step's kernels the code and the numbers for them would have to come from
memory anew.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.air.budget import Budget
from airshed.air.sources import Totals
from airshed.kernels.step_data import TwoStepWeights
from airshed.kernels.stepper import Stepper
from airshed.parallel.exact_sum import LateTotal

Array = npt.NDArray[np.float64]

MESSAGE: Final = 1
"""Further stretches that are made while one message travels."""

_AT_ONCE: Final = 16
"""Steps that a budget follows at once."""


@dataclass(frozen=True)
class DoneStep:
    """A step that ended at a time [s], its weights, and what gives the emission of emitted species [mol/s] in it."""

    seconds: float
    weights: TwoStepWeights
    emitted: Totals


class LateBudget:
    """Adds steps to a budget as soon as their sums over all ranks are known.

    start   begins the sums of (step, block, sum) over blocks and ranks; the array stays for MESSAGE more stretches
    refuse  is called with the sums (term, species) of a step that are not all finite, and the step's time
    emitted numbers of the emitted species
    behind  whether sums take their time; a rank that is alone has them at once
    """

    def __init__(
        self, budget: Budget, stepper: Stepper, start: Callable[[Array], LateTotal],
        refuse: Callable[[Array, float], None], *, emitted: Sequence[int], behind: bool,
    ) -> None:  # fmt: skip
        self._budget, self._stepper, self._start, self._refuse = budget, stepper, start, refuse
        self._emitted, self._emission = list(emitted), np.zeros_like(budget.amounts[0])
        self._behind = 2 * MESSAGE if behind else 0
        self._under_way: deque[tuple[Sequence[DoneStep], LateTotal]] = deque()
        self._known: list[tuple[DoneStep, Array]] = []

    def add(self, steps: Sequence[DoneStep], summands: Array) -> None:
        """Follow a stretch of steps, with what is to be summed up of each, (step, block, sum)."""
        self._under_way.append((steps, self._start(summands)))
        if len(self._under_way) > MESSAGE:
            self._under_way[-1 - MESSAGE][1].proceed()
        self._arrive(self._behind)
        if len(self._known) >= _AT_ONCE:
            self._follow()

    def settle(self) -> None:
        """Wait for all sums; every rank calls this at the same moments."""
        self._arrive(0)
        self._follow()

    def _arrive(self, left: int) -> None:
        """Wait for sums but those of so many of the last stretches."""
        while len(self._under_way) > left:
            steps, total = self._under_way.popleft()
            for step in steps:  # of one hour, whose sums are to be here when the budget asks for them
                step.emitted.proceed()
            self._known += zip(steps, total.result(), strict=True)

    def _follow(self) -> None:
        known, self._known = self._known, []
        for step, totals in known:
            sums, imbalance = self._stepper.by_term(totals)
            self._emission[self._emitted] = step.emitted()
            self._budget.add(step.weights, sums, self._emission, imbalance)
            if not np.isfinite(sums).all():
                self._refuse(sums, step.seconds)
