"""Gradients beside central differences of the run itself.

    (J(x + e d) - J(x - e d)) / (2 e)   against   <grad J, d>

Their difference falls with e^2 until round-off of J, over e, takes over; the best e lies in between. Where x lies on a
kink itself, as uniform mixing ratios do, central differences are the mean of two derivatives: see the Taylor test.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from airshed.core.report import Table
from airshed.inverse.chance import random_cost, random_direction
from airshed.inverse.direction import RATES, Direction, products
from airshed.inverse.recording import STEPS, CostOrMaker, recorded
from airshed.inverse.replay import Replay
from airshed.models.air.case import Case

SIZES: Final = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


@dataclass(frozen=True)
class Differences:
    """The derivative in one direction by the gradient, and by central differences of each size of changes."""

    by_gradient: float
    by_size: Mapping[float, float]

    def error(self, size: float) -> float:
        """Return the relative difference at a size."""
        other = self.by_size[size]
        return abs(other - self.by_gradient) / (max(abs(other), abs(self.by_gradient)) or 1.0)

    @property
    def best(self) -> float:
        """The size at which the two are closest."""
        return min(self.by_size, key=self.error)


@dataclass(frozen=True)
class DifferenceCheck:
    """Gradient and central differences by the kind of input."""

    steps: int
    found: Mapping[str, Differences]

    @property
    def errors(self) -> dict[str, float]:
        """The relative differences, each at its best size."""
        return {kind: each.error(each.best) for kind, each in self.found.items()}

    def table(self) -> Table:
        """Return both derivatives, and how far they are from each other at the best size."""
        rows = [
            (kind, each.by_gradient, each.by_size[each.best], each.best, each.error(each.best))
            for kind, each in self.found.items()
        ]
        columns = ("input", "by the gradient", "by differences", "best size of changes", "relative difference")
        return Table(f"Gradient and central differences, {self.steps} steps", columns, rows)

    def __str__(self) -> str:
        return self.table().to_text()


def finite_difference_check(
    case: Case | str | Path, cost: CostOrMaker = None, *, kinds: Sequence[str] = (), steps: int = STEPS, seed: int = 0,
    **given: Any,
) -> DifferenceCheck:  # fmt: skip
    """Return the gradient beside central differences in random directions, of changes of 1e-2 to 1e-6 of each input.

        print(airshed.inverse.finite_difference_check("cases/west-europe"))

    cost   see :func:`airshed.inverse.gradient`: the run goes to its last time, with all levels in memory; without a
           cost it is a sum of all mixing ratios after so many steps; each run has a deep copy of it
    kinds  of inputs; all but rates without it, which compile a kernel of their own
    given  what :class:`airshed.Simulation` takes besides: meteorology, initial, allow_code
    Takes ten runs of so many steps for each kind: seconds for a small case, tens of seconds for 28,800 cells. Raises
    AirshedError for what is wrong with the case.
    """
    run, made = recorded(case, cost, steps=steps, **given)
    direction = random_direction(run, seed)
    with closing(Replay(run, made or random_cost(run, seed + 1))) as replay:
        adjoint = replay.backward()
        asked = kinds or [kind for kind in direction.parts() if kind != RATES]
        return DifferenceCheck(
            len(run.steps), {kind: differences(replay, adjoint, direction.only(kind)) for kind in asked}
        )  # fmt: skip


def differences(
    replay: Replay, adjoint: Direction, direction: Direction, sizes: Sequence[float] = SIZES
) -> Differences:
    """Return the derivative of a replay in a direction by its adjoint, and by central differences."""
    by_size = {size: (replay.value(direction, size) - replay.value(direction, -size)) / (2.0 * size) for size in sizes}
    return Differences(sum(products(adjoint, direction).values()), by_size)
