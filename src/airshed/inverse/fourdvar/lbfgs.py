"""L-BFGS whose whole memory is a value, so that a run that was killed goes on with the very same iterates.

SciPy's L-BFGS-B keeps its memory inside: a restart of it begins as steepest descent, and each of its evaluations is a
run of the model and its adjoint. Controls are unbounded here, factors being exponentials, so bounds are not missed.

source  Nocedal 1980, Math. Comput. 35, 773-782; Liu & Nocedal 1989, Math. Program. 45, 503-528
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from airshed.inverse.fourdvar.line_search import Trial, line_search

Array = npt.NDArray[np.float64]

MEMORY: Final = 20
"""Pairs that are kept: of a vector of 1e6 controls they are 320 MB."""


class Evaluated(Protocol):
    """A cost and its gradient."""

    @property
    def cost(self) -> float:
        """J."""
        ...

    @property
    def gradient(self) -> Array:
        """The gradient of J, (n,)."""
        ...


Found = TypeVar("Found", bound=Evaluated)


@dataclass(frozen=True, eq=False)
class Memory:
    """The state of the minimiser between two iterations.

    v, cost, gradient  (n,), J(v), (n,)
    steps, changes     (m, n)  v_(k+1) - v_k and g_(k+1) - g_k of the last iterations, the oldest first
    iteration          how many there were
    """

    v: Array
    cost: float
    gradient: Array
    steps: Array
    changes: Array
    iteration: int = 0


def begin(v: Array, evaluated: Evaluated) -> Memory:
    """Return the state before the first iteration."""
    empty = np.empty((0, v.size))
    return Memory(v, evaluated.cost, evaluated.gradient, empty, empty)


def direction(memory: Memory) -> Array:
    """Return -H g by the two-loop recursion, H_0 = (s.y / y.y) I; without pairs H_0 = I, as the background has it."""
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
    """Return the state after one more iteration and what was evaluated there; None where no step lowers the cost.

    It is a function of the state alone: the same state gives the same bits. Where the pairs give no step that lowers
    the cost, they are forgotten and steepest descent is tried.
    """
    way = direction(memory)
    start = Trial[Found | None](0.0, memory.cost, float(way @ memory.gradient), None)

    def at(step: float) -> Trial[Found | None]:
        found = evaluate(memory.v + step * way)
        slope = float(found.gradient @ way) if np.isfinite(found.cost) else np.nan
        return Trial(step, found.cost, slope, found)

    # without curvature known, a step of one background standard deviation at most
    first = 1.0 if memory.steps.size else min(1.0, 1.0 / max(float(np.linalg.norm(memory.gradient)), 1e-300))
    taken = line_search(at, start, first) if start.slope < 0.0 else None
    if taken is None or taken.kept is None:
        empty = np.empty((0, memory.v.size))
        return iterate(replace(memory, steps=empty, changes=empty), evaluate) if memory.steps.size else None
    return _after(memory, taken.step * way, taken.kept), taken.kept


def _after(memory: Memory, step: Array, found: Evaluated) -> Memory:
    steps, changes = memory.steps, memory.changes
    change = found.gradient - memory.gradient
    if float(step @ change) > 1e-14 * float(np.linalg.norm(step)) * float(np.linalg.norm(change)):
        steps, changes = (np.vstack([old, new])[-MEMORY:] for old, new in ((steps, step), (changes, change)))
    return Memory(memory.v + step, found.cost, found.gradient, steps, changes, memory.iteration + 1)
