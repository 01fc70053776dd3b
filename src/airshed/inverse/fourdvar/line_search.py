"""A line search for the strong Wolfe conditions.

source  Nocedal & Wright 2006, Numerical Optimization, algorithms 3.5 and 3.6
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import numpy as np

DECREASE: Final = 1e-4
CURVATURE: Final = 0.9
_MOST_TRIALS: Final = 20
_LONGER: Final = 4.0

Payload = TypeVar("Payload")


@dataclass(frozen=True)
class Trial(Generic[Payload]):
    """A point along the line: how far it lies, the cost and its slope there, and what the caller keeps of it."""

    step: float
    cost: float
    slope: float
    kept: Payload


def line_search(at: Callable[[float], Trial[Payload]], start: Trial[Payload], first: float) -> Trial[Payload] | None:
    """Return a point with  J(t) <= J(0) + 1e-4 t J'(0)  and  |J'(t)| <= 0.9 |J'(0)|,  or None where none is found.

    at     evaluates a step length; an infinite cost means that it was too long
    first  length to try first; it is taken where it does, which for L-BFGS it nearly always does

    After 20 trials the best point that satisfies the first condition is returned.
    """
    low, high, best, step = start, None, None, first
    for _ in range(_MOST_TRIALS):
        trial = at(step)
        decreases = _decreases(trial, start)
        if decreases and abs(trial.slope) <= -CURVATURE * start.slope:
            return trial
        if decreases and (best is None or trial.cost < best.cost):
            best = trial
        if not decreases or trial.cost >= low.cost:
            high = trial
        else:
            if trial.slope * ((high.step if high else np.inf) - low.step) >= 0.0:
                high = low
            low = trial
        step = _LONGER * step if high is None else _between(low, high)
        if high is not None and abs(high.step - low.step) <= 1e-14 * max(low.step, high.step):
            break
    return best


def _decreases(trial: Trial[Payload], start: Trial[Payload]) -> bool:
    """Whether the cost falls enough; differences below its round-off count as none."""
    noise = 4.0 * np.finfo(float).eps * abs(start.cost)
    return bool(trial.cost <= start.cost + DECREASE * trial.step * start.slope + noise)


def _between(low: Trial[Payload], high: Trial[Payload]) -> float:
    """Return the minimum of the parabola through both costs and the slope at ``low``, away from both ends."""
    width = high.step - low.step
    rise = high.cost - low.cost - low.slope * width
    share = 0.5 if not np.isfinite(rise) or rise <= 0.0 else -0.5 * low.slope * width / rise
    return low.step + width * float(np.clip(share, 0.1, 0.9))
