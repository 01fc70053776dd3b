"""L-BFGS with a line search for the strong Wolfe conditions, as a function of an explicit state.

A killed run therefore resumes with the same iterates. SciPy's L-BFGS-B has internal memory: after a restart it begins
with steepest descent, and each evaluation is a run of the model and its adjoint. Controls are unbounded, because
factors are exponentials.

source  Nocedal 1980, Math. Comput. 35, 773-782; Liu & Nocedal 1989, Math. Program. 45, 503-528;
        Nocedal & Wright 2006, Numerical Optimization, algorithms 3.5 and 3.6
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, TypeVar

import numpy as np

from airshed.core.arrays import Array

DECREASE: Final = 1e-4
CURVATURE: Final = 0.9
_MOST_TRIALS: Final = 20
_LONGER: Final = 4.0

Payload = TypeVar("Payload")


@dataclass(frozen=True)
class Trial(Generic[Payload]):
    """Point of a line search: step length, cost, slope along the line, and data of the caller."""

    step: float
    cost: float
    slope: float
    payload: Payload


def line_search(at: Callable[[float], Trial[Payload]], start: Trial[Payload], first: float) -> Trial[Payload] | None:
    """Return a point with  J(t) <= J(0) + 1e-4 t J'(0)  and  |J'(t)| <= 0.9 |J'(0)|,  or None if none is found.

    at     function that evaluates a step length; an infinite cost means that it was too long
    first  first step length; with L-BFGS it nearly always satisfies both conditions

    After 20 trials the best point that satisfies the first condition is returned.
    """
    low, high, best, step = start, None, None, first
    noise = 4.0 * np.finfo(float).eps * abs(start.cost)  # tolerance for the round-off of the cost
    for _ in range(_MOST_TRIALS):
        trial = at(step)
        decreases = trial.cost <= start.cost + DECREASE * step * start.slope + noise
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


def _between(low: Trial[Payload], high: Trial[Payload]) -> float:
    """Return the minimum of the parabola through both costs and the slope at ``low``, limited to the interior."""
    width = high.step - low.step
    rise = high.cost - low.cost - low.slope * width
    share = 0.5 if not np.isfinite(rise) or rise <= 0.0 else -0.5 * low.slope * width / rise
    return low.step + width * float(np.clip(share, 0.1, 0.9))


MEMORY: Final = 20
"""Number of stored pairs; 320 MB for 1e6 controls."""


class CostAndGradient(Protocol):
    """Cost and its gradient."""

    @property
    def cost(self) -> float:
        """Cost J."""
        ...

    @property
    def gradient(self) -> Array:
        """Gradient of J, (n,)."""
        ...


Found = TypeVar("Found", bound=CostAndGradient)


@dataclass(frozen=True, eq=False)
class Memory:
    """The state of the minimiser between two iterations.

    v, cost, gradient  (n,), J(v), (n,)
    steps, changes     (m, n)  v_(k+1) - v_k and g_(k+1) - g_k of the last iterations, the oldest first
    iteration          number of completed iterations
    """

    v: Array
    cost: float
    gradient: Array
    steps: Array
    changes: Array
    iteration: int = 0


def begin(v: Array, evaluated: CostAndGradient) -> Memory:
    """Return the state before the first iteration."""
    empty = np.empty((0, v.size))
    return Memory(v, evaluated.cost, evaluated.gradient, empty, empty)


def direction(memory: Memory) -> Array:
    """Return -H g by the two-loop recursion with H_0 = (s.y / y.y) I; without pairs H_0 = I as for the background."""
    q = memory.gradient.copy()
    shares = []
    for s, y in zip(memory.steps[::-1], memory.changes[::-1], strict=True):
        shares.append(float(s @ q) / float(s @ y))
        q -= shares[-1] * y
    if shares:
        s, y = memory.steps[-1], memory.changes[-1]
        q *= float(s @ y) / float(y @ y)
    for s, y, share in zip(memory.steps, memory.changes, reversed(shares), strict=True):
        q += (share - float(y @ q) / float(s @ y)) * s
    return -q


def iterate(memory: Memory, evaluate: Callable[[Array], Found]) -> tuple[Memory, Found] | None:
    """Return the state after one more iteration and its evaluation; None if no step reduces the cost.

    Equal states give bitwise identical results. If no step along the L-BFGS direction reduces the cost, the
    stored pairs are discarded and steepest descent is tried.
    """
    way = direction(memory)
    start = Trial[Found | None](0.0, memory.cost, float(way @ memory.gradient), None)

    def at(step: float) -> Trial[Found | None]:
        found = evaluate(memory.v + step * way)
        slope = float(found.gradient @ way) if np.isfinite(found.cost) else np.nan
        return Trial(step, found.cost, slope, found)

    # Without curvature information the first step is at most one background standard deviation.
    first = 1.0 if memory.steps.size else min(1.0, 1.0 / max(float(np.linalg.norm(memory.gradient)), 1e-300))
    taken = line_search(at, start, first) if start.slope < 0.0 else None
    if taken is None or taken.payload is None:
        empty = np.empty((0, memory.v.size))
        return iterate(replace(memory, steps=empty, changes=empty), evaluate) if memory.steps.size else None
    found, steps, changes = taken.payload, memory.steps, memory.changes
    step, change = taken.step * way, taken.payload.gradient - memory.gradient
    if float(step @ change) > 1e-14 * float(np.linalg.norm(step)) * float(np.linalg.norm(change)):
        steps, changes = (np.vstack([old, new])[-MEMORY:] for old, new in ((steps, step), (changes, change)))
    return Memory(memory.v + step, found.cost, found.gradient, steps, changes, memory.iteration + 1), found
