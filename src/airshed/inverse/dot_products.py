"""The dot-product test: the adjoint of a run is the transpose of its tangent, for every kind of input.

    <w, M d> = <M^T w, d>

for a short run whose tangent-linear model is M, changes d of an input and weights w of what comes out, both at random.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.report import Table
from airshed.inverse.chance import random_cost, random_direction
from airshed.inverse.direction import Direction, products
from airshed.inverse.recording import STEPS, Recording, recorded
from airshed.inverse.replay import Replay
from airshed.models.air.case import Case

LIMITS: Final[Mapping[str, float]] = {"double": 1e-12, "single": 1e3 * float(np.finfo(np.float32).eps)}
"""Relative error that round-off of some steps may make, by the precision of the steps; a wrong term makes 1e-3.

Found at most: 58 epsilons in double, 125 in single.
"""

NOTHING: Final = (
    "nothing was tested: no input matters to this run. Put something into its air: [boundary] or initial=..."
)


@dataclass(frozen=True)
class DotProducts:
    """Both sides of the dot products of a run, by the kind of input.

    by_tangent  <w, M d>;  by_adjoint  <M^T w, d>
    sizes       root of the sum of squares of what <M^T w, d> adds up: what is left where its signs are at random
    limit       of relative errors: 1e-12 where steps are in double precision, 1000 epsilons (1.2e-4) in single
    """

    steps: int
    by_tangent: Mapping[str, float]
    by_adjoint: Mapping[str, float]
    sizes: Mapping[str, float]
    limit: float

    @property
    def errors(self) -> dict[str, float]:
        """The differences over the greater side, or the size where a sum cancels; 0 where an input matters to nothing.

        By chance a sum may cancel to any part of what it adds up, and its round-off does not.
        """
        found = {}
        for kind, one in self.by_tangent.items():
            other = self.by_adjoint[kind]
            found[kind] = abs(one - other) / (max(abs(one), abs(other), self.sizes[kind]) or 1.0)
        return found

    @property
    def worst(self) -> float:
        """The greatest of the errors."""
        return float(np.max(list(self.errors.values())))  # of which one may be no number

    @property
    def empty(self) -> bool:
        """Whether no input matters, as where there is nothing in the air: then nothing was tested."""
        return not any(self.sizes.values()) and not any(self.by_tangent.values())

    @property
    def ok(self) -> bool:
        """Whether all errors are round-off, of a run in which something matters."""
        return self.worst <= self.limit and not self.empty

    def table(self) -> Table:
        """Return both sides and their difference."""
        rows = [
            (kind, self.by_tangent[kind], self.by_adjoint[kind], error, error <= self.limit)
            for kind, error in self.errors.items()
        ]
        columns = ("input", "by the tangent", "by the adjoint", "relative error", "holds")
        note = f"; {NOTHING}" if self.empty else ""
        return Table(f"Dot products over {self.steps} steps", columns, rows, f"holds: at most {self.limit:.2g}{note}")

    def __str__(self) -> str:
        return self.table().to_text()


def dot_product_test(
    case: Case | str | Path, *, steps: int = STEPS, seed: int = 0, allow_code: bool = False, **given: Any
) -> DotProducts:
    """Return the dot products of the first steps of a case, of each kind of input that it has.

        print(airshed.inverse.dot_product_test("cases/west-europe"))

    given  what :class:`airshed.Simulation` takes besides: meteorology, initial
    Both sides agree to 1e-12 where `chemistry.precision` is "double", to 1.2e-4 where it is "single". The first time,
    tangent and adjoint are compiled (a minute or two for 66 species); then it takes seconds for a small case, tens of
    seconds for 28,800 cells. Raises AirshedError for what is wrong with the case.
    """
    run, _ = recorded(case, steps=steps, allow_code=allow_code, **given)
    return dot_products(run, seed)


def dot_products(run: Recording, seed: int = 0) -> DotProducts:
    """Return the dot products of a recorded run."""
    direction = random_direction(run, seed, zeros=True)
    with closing(Replay(run, random_cost(run, seed + 1))) as replay:
        replay.tangent(direction)
        replay.look_through(random_cost(run, seed + 1, replay.change))
        adjoint = replay.backward()
        by_adjoint = products(adjoint, direction)
        by_tangent = {kind: replay.tangent(direction.only(kind)) for kind in by_adjoint}
    limit = LIMITS[run.derivatives.precision]
    return DotProducts(len(run.steps), by_tangent, by_adjoint, sizes(adjoint, direction), limit)


def sizes(adjoint: Direction, direction: Direction) -> dict[str, float]:
    """Return the roots of the sums of squares of what products add up, by the kinds of inputs."""
    one, other = (each.map(lambda part: np.square(part, dtype=np.float64)) for each in (adjoint, direction))
    return {kind: float(np.sqrt(each)) for kind, each in products(one, other).items()}
