"""A budget that follows the steps a little behind them, so that no rank waits for the sums of a step to come together.

With several ranks the sums of a step over all of them take two messages. They travel while the next two steps are made,
so that a rank that is late for a moment holds up its neighbours alone, and these only once they need its halo.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.air.budget import Budget
from airshed.kernels.step_arguments import TERMS
from airshed.kernels.stepper import Stepper, TwoStepWeights
from airshed.parallel.exact_sum import LateTotal

Array = npt.NDArray[np.float64]

_BEHIND: Final = 2
"""Steps whose sums are under way: one for each message."""


@dataclass(frozen=True)
class _Step:
    seconds: float
    weights: TwoStepWeights
    total: LateTotal
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
        self._under_way: deque[_Step] = deque()

    def add(self, seconds: float, weights: TwoStepWeights, summands: Array, emission: Array) -> None:
        """Follow the step that ended at a time, with the emission of each species [mol/s] in it."""
        for step in self._under_way:
            step.total.proceed()
        self._under_way.append(_Step(seconds, weights, self._start(summands), emission))
        while len(self._under_way) > self._behind:
            self._settle_first()

    def settle(self) -> None:
        """Wait for all sums; every rank calls this at the same moments."""
        while self._under_way:
            self._settle_first()

    def _settle_first(self) -> None:
        step = self._under_way.popleft()
        sums, imbalance = self._stepper.by_term(step.total.result())
        self._budget.add(step.weights, dict(zip(TERMS, sums, strict=True)), step.emission, imbalance)
        if not np.isfinite(sums).all():
            self._refuse(sums, step.seconds)
