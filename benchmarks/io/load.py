"""Replacement of the model in the experiment: it computes, and has a state like the model."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_VALUES: Final = 16384
_CALL: Final = 0.02
"""Seconds of a computing call, which releases Python's lock, as the kernels of the model."""
_GREATEST: Final = 1000
"""Initial values of the state are integers below this, which single precision represents exactly."""


class Load:
    """State of two alternating time levels, and a fixed amount of computation in each step.

    Each step writes the whole new level from the other one, a share of the fields after each computing call. Reading
    that level during the step would thus give a mixture of two steps. Every value of the newest level is greater by one
    than in the step before.

    names    the fields, each (level, lat, lon)
    compute  [s] of a step on an idle core, including the writing of the state
    slowest  returns the maximum over all ranks
    """

    lasting = 1
    """Further steps that do not change the newest level, as in the model."""

    def __init__(
        self,
        names: Sequence[str],
        shape: tuple[int, ...],
        compute: float,
        seed: int,
        slowest: Callable[[float], float] = float,
    ) -> None:
        random = np.random.default_rng(seed)
        self.steps = 0
        self.newest = {name: random.integers(0, _GREATEST, shape).astype(np.float64) for name in names}
        self._other = {name: np.zeros(shape) for name in names}
        self._values = np.linspace(0.0, 1.0, _VALUES)
        self._calls = max(ceil(compute / _CALL), 1)
        turn = slowest(min(timed(partial(self._compute, 16)) for _ in range(50)) / 16)
        state = slowest(min(timed(partial(self._advance, 0, 1)) for _ in range(5)))
        self._turns = max(round((compute - state) / (turn * self._calls)), 0)

    def step(self) -> None:
        """Compute, and advance the state."""
        for call in range(self._calls):
            self._advance(call, self._calls)
            self._compute(self._turns)
        self.newest, self._other = self._other, self.newest
        self.steps += 1

    def _advance(self, first: int, stride: int) -> None:
        """Write a share of the fields of the next level."""
        for name in list(self.newest)[first::stride]:
            np.add(self.newest[name], 1.0, out=self._other[name])

    def _compute(self, turns: int) -> None:
        """Compute in one call on numbers in the core's cache."""
        np.hypot.reduce(np.broadcast_to(self._values, (turns, _VALUES)), axis=0)


def timed(work: Callable[[], object]) -> float:
    """Return the wall time [s] of a call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
