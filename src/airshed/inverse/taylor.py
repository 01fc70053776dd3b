"""The Taylor test: what the derivative leaves of a finite change falls with its square.

R(e) = |J(x + e d) - J(x) - e J'(x) d|

Where a limiter switches between x and x + e d at every e, x lies on a kink, as even air does. The remainder is then of
first order, whether the derivative is right or wrong, and the test is undecided.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.report import Table
from airshed.inverse.chance import random_cost, random_direction
from airshed.inverse.changes import Changes
from airshed.inverse.direction import INITIAL, Direction
from airshed.inverse.dot_products import NOTHING
from airshed.inverse.kinks import Crossings
from airshed.inverse.recording import STEPS, CostOrMaker, recorded
from airshed.inverse.replay import Replay
from airshed.models.air.case import Case

SIZES: Final = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
"""Four decades."""

ORDER: Final = 1.8
"""Least order of a remainder that is taken for the second."""

_ROUND_OFF: Final = {"double": 1e-13, "single": 2.0 * float(np.finfo(np.float32).eps)}
_UNDECIDED: Final = (
    "; undecided: limiters switched, or values were clipped, at every size, which leaves what a wrong derivative does. "
    "Take uneven air (initial=...), or dot_product_test"
)


@dataclass(frozen=True)
class Remainder:
    """The remainder at a size of changes, and what was crossed on the way: faces' branches, and values clipped."""

    size: float
    remainder: float
    kinks: int
    clips: int


@dataclass(frozen=True)
class Taylor:
    """Remainders in one direction.

    value      J(x);  derivative  J'(x) d
    round_off  of the cost over its value: 1e-13 where steps are in double precision, 2 epsilons (2.4e-7) in single
    """

    kind: str
    value: float
    derivative: float
    remainders: Sequence[Remainder]
    round_off: float

    @property
    def above_round_off(self) -> list[Remainder]:
        """The remainders that are more than round-off of the cost, or no numbers."""
        return [each for each in self.remainders if not each.remainder <= self.round_off * abs(self.value)]

    @property
    def order(self) -> float:
        """The order of the remainders, fitted; infinite where fewer than two are more than round-off, NaN for NaN."""
        points = self.above_round_off
        if not all(np.isfinite(each.remainder) for each in points):
            return float("nan")
        if len(points) < 2:
            return float("inf")
        sizes, remainders = (np.log([getattr(each, name) for each in points]) for name in ("size", "remainder"))
        return float(np.polyfit(sizes, remainders, 1)[0])

    @property
    def empty(self) -> bool:
        """Whether the changes matter to nothing: then nothing was tested."""
        return self.derivative == 0.0 and all(each.remainder == 0.0 for each in self.remainders)

    @property
    def ok(self) -> bool:
        """Whether the remainder is of second order: the derivative is right. See `undecided` where it is not."""
        return self.order >= ORDER and not self.empty

    @property
    def undecided(self) -> bool:
        """Whether the remainder is of a lower order by kinks or by a wrong derivative, which cannot be decided.

        It then crosses kinks or clips wherever it is more than round-off.
        """
        return self.order < ORDER and all(each.kinks + each.clips > 0 for each in self.above_round_off)

    def table(self) -> Table:
        """Return the remainders."""
        whole = abs(self.value) or 1.0
        rows = [(each.size, each.remainder / whole, each.kinks, each.clips) for each in self.remainders]
        note = f"J = {self.value:.6g}, its derivative {self.derivative:.6g}; order of the remainder {self.order:.2f}"
        if self.empty:
            note += f"; {NOTHING}"
        elif not self.ok:
            note += _UNDECIDED if self.undecided else ", and no kinks explain that"
        columns = ("size of changes", "remainder over J", "limiters that switched", "values clipped in one alone")
        return Table(f"Taylor test, {self.kind}", columns, rows, note)

    def __str__(self) -> str:
        return self.table().to_text()


def taylor_test(
    case: Case | str | Path, cost: CostOrMaker = None, *, kind: str = INITIAL, steps: int = STEPS, seed: int = 0,
    **given: Any,
) -> Taylor:  # fmt: skip
    """Return the remainders for random changes of one kind of input, of 1e-1 to 1e-5 of what it is.

        print(airshed.inverse.taylor_test("cases/west-europe", kind="emission"))

    cost   see :func:`airshed.inverse.gradient`; a sum of all mixing ratios at the end without it; each run has a deep
           copy of it
    kind   initial, emission, boundary, top, rates, "number NAME" or "field NAME" of an operator
    given  what :class:`airshed.Simulation` takes besides: meteorology, initial, allow_code
    Its `ok` states whether the remainder is of second order; in even air it may be `undecided`, which is not ok.
    Takes six runs of so many steps: seconds for a small case, a minute for 28,800 cells; rates compile a kernel of
    their own. Raises AirshedError for what is wrong with the case.
    """
    run, made = recorded(case, cost, steps=steps, **given)
    with closing(Replay(run, made or random_cost(run, seed + 1))) as replay:
        return remainders(replay, kind, random_direction(run, seed).only(kind))


def remainders(replay: Replay, kind: str, direction: Direction, sizes: Sequence[float] = SIZES) -> Taylor:
    """Return the remainders of a replay in a direction."""
    derivative, run = replay.tangent(direction), replay.recording
    crossings = Crossings(run, run.constants)
    value = replay.value(observer=crossings.note)
    found = []
    for size in sizes:
        crossings.constants = Changes(direction, run.area, run.members).constants(run.constants, size)
        crossings.start()
        there = replay.value(direction, size, crossings.compare)
        left = abs(there - value - size * derivative)
        found.append(Remainder(size, left, crossings.kinks, crossings.clips))
    return Taylor(kind, value, derivative, found, _ROUND_OFF[run.derivatives.precision])
