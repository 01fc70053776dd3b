"""The dot-product test: the adjoint of a run is the transpose of its tangent, for every kind of input.

    <w, M d> = <M^T w, d>

for a short run whose tangent-linear model is M, changes d of an input and weights w of what comes out, both at random.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from airshed.adjoint.chance import random_cost, random_direction
from airshed.adjoint.direction import products
from airshed.adjoint.recording import STEPS, Recording, recorded
from airshed.adjoint.replay import Replay
from airshed.air.case import Case
from airshed.core.report import Table

LIMIT: Final = 1e-12
"""Relative error that round-off of some steps may make; a wrong term makes 1e-3."""


@dataclass(frozen=True)
class DotProducts:
    """Both sides of the dot products of a run, by the kind of input.

    by_tangent  <w, M d>;  by_adjoint  <M^T w, d>
    """

    steps: int
    by_tangent: Mapping[str, float]
    by_adjoint: Mapping[str, float]

    @property
    def errors(self) -> dict[str, float]:
        """The differences over the greater side; 0 where an input matters to nothing."""
        sides = {kind: (each, self.by_adjoint[kind]) for kind, each in self.by_tangent.items()}
        return {kind: abs(a - b) / (max(abs(a), abs(b)) or 1.0) for kind, (a, b) in sides.items()}

    @property
    def worst(self) -> float:
        """The greatest of the errors."""
        return max(self.errors.values())

    @property
    def ok(self) -> bool:
        """Whether all errors are round-off."""
        return self.worst <= LIMIT

    def table(self) -> Table:
        """Return both sides and their difference."""
        rows = [
            (kind, self.by_tangent[kind], self.by_adjoint[kind], error, error <= LIMIT)
            for kind, error in self.errors.items()
        ]
        columns = ("input", "by the tangent", "by the adjoint", "relative error", "holds")
        return Table(f"Dot products over {self.steps} steps", columns, rows, f"holds: at most {LIMIT:g}")

    def __str__(self) -> str:
        return self.table().to_text()


def dot_product_test(
    case: Case | str | Path, *, steps: int = STEPS, seed: int = 0, allow_code: bool = False, **given: Any
) -> DotProducts:
    """Return the dot products of the first steps of a case, of each kind of input that it has.

        print(airshed.adjoint.dot_product_test("cases/west-europe"))

    given  what :class:`airshed.Simulation` takes besides: meteorology, initial
    The first time, tangent and adjoint are compiled (a minute or two for 66 species); then it takes seconds for a small
    case, tens of seconds for 28,800 cells. Raises AirshedError for what is wrong with the case.
    """
    run, _ = recorded(case, steps=steps, allow_code=allow_code, **given)
    return dot_products(run, seed)


def dot_products(run: Recording, seed: int = 0) -> DotProducts:
    """Return the dot products of a recorded run."""
    direction = random_direction(run, seed, zeros=True)
    with closing(Replay(run, random_cost(run, seed + 1))) as replay:
        replay.tangent(direction)
        replay.cost = random_cost(run, seed + 1, replay.change)
        by_adjoint = products(replay.backward(), direction)
        by_tangent = {kind: replay.tangent(direction.only(kind)) for kind in by_adjoint}
    return DotProducts(len(run.steps), by_tangent, by_adjoint)
