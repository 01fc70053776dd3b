"""A budget that follows the steps a little behind them, so that no rank waits for the sums of a step to come together.

With several ranks the sums of a step over all of them take two messages. They travel while the next two steps are made,
so that a rank that is late for a moment holds up its neighbours alone, and these only once they need its halo.

Budgets follow many steps at once: after each step's kernels the code and the numbers for them would have to come from
memory anew.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.air.budget import Budget
from airshed.kernels.step_data import TwoStepWeights
from airshed.kernels.stepper import Stepper
from airshed.parallel.exact_sum import LateTotal

Array = npt.NDArray[np.float64]

_BEHIND: Final = 2
"""Steps whose sums are under way: one for each message."""

_AT_ONCE: Final = 16
"""Steps that a budget follows at once."""


@dataclass(frozen=True)
class _Step:
    seconds: float
    weights: TwoStepWeights
    emission: Array


class LateBudget:
    """Adds steps to a budget as soon as their sums over all ranks are known.

    start   begins the sum of (block, sum) over all blocks and ranks; the array stays as it is for one more step
    refuse  is called with the sums (term, species) of a step that are not all finite, and the step's time
    behind  whether sums take their time; a rank that is alone has them at once
    """

    def __init__(
        self, budget: Budget, stepper: Stepper, start: Callable[[Array], LateTotal],
        refuse: Callable[[Array, float], None], *, behind: bool,
    ) -> None:  # fmt: skip
        self._budget, self._stepper, self._start, self._refuse = budget, stepper, start, refuse
        self._behind = _BEHIND if behind else 0
        self._under_way: deque[tuple[_Step, LateTotal]] = deque()
        self._known: list[tuple[_Step, Array]] = []

    def add(self, seconds: float, weights: TwoStepWeights, summands: Array, emission: Array) -> None:
        """Follow the step that ended at a time, with the emission of each species [mol/s] in it."""
        for _, total in self._under_way:
            total.proceed()
        self._under_way.append((_Step(seconds, weights, emission), self._start(summands)))
        self._arrive(self._behind)
        if len(self._known) >= _AT_ONCE:
            self._follow()

    def settle(self) -> None:
        """Wait for all sums; every rank calls this at the same moments."""
        self._arrive(0)
        self._follow()

    def _arrive(self, left: int) -> None:
        """Wait for sums but those of so many of the last steps."""
        while len(self._under_way) > left:
            step, total = self._under_way.popleft()
            self._known.append((step, total.result()))

    def _follow(self) -> None:
        known, self._known = self._known, []
        for step, totals in known:
            sums, imbalance = self._stepper.by_term(totals)
            self._budget.add(step.weights, sums, step.emission, imbalance)
            if not np.isfinite(sums).all():
                self._refuse(sums, step.seconds)
