"""Tests of derivatives: dot products, Taylor remainders, and central differences.

    <w, M d> = <M^T w, d>                                   the adjoint is the transpose of the tangent M
    R(e) = |J(x + e d) - J(x) - e J'(x) d|                  falls with e^2
    (J(x + e d) - J(x - e d)) / (2 e)  against  <grad J, d>

with random changes d of an input and weights w of the results. Where a limiter switches between x and x + e d at every
e, as in even air, J is not differentiable at x. The Taylor remainder is then of first order, whether the derivative is
right or wrong, and the test is undecided; central differences are the mean of two derivatives. The difference of the
third falls with e^2 until round-off of J, over e, takes over; the best e lies in between.

On each branch of a limiter a step is smooth. :class:`Crossings` counts the faces that take another branch, and values
that are clipped in one run alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.report import Table
from airshed.inverse.reverse.direction import INITIAL, RATES, Changes, Direction, products
from airshed.inverse.verify.recording import STEPS, CostOrMaker, Recording, random_cost, random_direction, recorded
from airshed.inverse.verify.replay import Replay
from airshed.kernels.host import AnyArray
from airshed.kernels.step.arguments import Pair, StepConstants
from airshed.kernels.transport.reference import ALPHA, BETA, BoundaryValues, with_sides
from airshed.models.air.case import Case
from airshed.models.air.programs.records import FormulaStep

Branches = npt.NDArray[np.int8]

EXTREMUM, SMOOTH, AHEAD, BEHIND = range(4)


def branch(before: Array, upstream: Array, downstream: Array, alpha: Array | float, beta: Array | float) -> Branches:
    """Return what :func:`airshed.kernels.transport.reference.face_value` takes at each face: one of the four above."""
    behind, ahead = upstream - before, downstream - upstream
    rising = np.sign(ahead)
    smooth, size, other = np.abs(alpha * ahead + beta * behind), np.abs(ahead), np.abs(behind)
    found = np.where(smooth < np.minimum(size, other), SMOOTH, np.where(size < other, AHEAD, BEHIND))
    return np.where(rising * np.sign(behind) <= 0.0, EXTREMUM, found).astype(np.int8)


def along(cells: Array, air: Array) -> Branches:
    """Return the branches of faces along the last axis; shapes as those of ``flux_along``. 0 where no air flows."""
    west2, west, east, east2 = (cells[..., i : i + air.shape[-1]] for i in range(4))
    positive, negative = branch(west2, west, east, ALPHA, BETA), branch(east2, east, west, ALPHA, BETA)
    return np.where(air > 0.0, positive, np.where(air < 0.0, negative, 0)).astype(np.int8)


def upward(q: Array, air: Array, weights: Array) -> Branches:
    """Return the branches of faces between levels; shapes as those of ``upward_flux``."""
    below2, above2 = q[:, [0, *range(q.shape[1] - 2)]], q[:, [*range(2, q.shape[1]), q.shape[1] - 1]]
    alpha, beta, alpha_down, beta_down = weights[:-1].T[:, :, None, None]
    rising = branch(below2, q[:, :-1], q[:, 1:], alpha, beta)
    sinking = branch(above2, q[:, 1:], q[:, :-1], alpha_down, beta_down)
    return np.where(air[:-1] > 0.0, rising, np.where(air[:-1] < 0.0, sinking, 0)).astype(np.int8)


@dataclass
class Crossings:
    """Counts where a run differs from another: faces in `kinks`, values in `clips`, added up over steps."""

    recorded: Recording
    constants: StepConstants
    kinks: int = 0
    clips: int = 0
    _noted: list[tuple[AnyArray, AnyArray]] = field(default_factory=list, repr=False)
    _compared: int = 0

    def start(self) -> None:
        """Begin with the first part of the first step."""
        self._compared = self.kinks = self.clips = 0

    def note(self, step: FormulaStep | None, before: AnyArray, after: AnyArray, clipped: Array | None) -> None:
        """Note a part of a step of the run with which others are compared."""
        self._noted.append((before.copy(), _where_clipped(after, clipped)))

    def compare(self, step: FormulaStep | None, before: AnyArray, after: AnyArray, clipped: Array | None) -> None:
        """Count what differs in a part of a step."""
        run, (other, where) = self.recorded, self._noted[self._compared]
        if step is not None and any(each.kind == "face_flux" for each in run.derivatives.operators):
            self.kinks += self._faces(step, before, other)
        differs = _where_clipped(after, clipped) != where
        self.clips += int(run.area.whole(differs).sum())
        self._compared += 1

    def _faces(self, step: FormulaStep, one: AnyArray, other: AnyArray) -> int:
        """Count faces with other branches; species by species, since that fits caches."""
        whole, transport = self.recorded.area.whole, step.forcing.transport
        x, y = (self._between(pair, transport.weight) for pair in (transport.flux_x, transport.flux_y))
        z = self._between(transport.flux_z, transport.weight_z)
        profiles = self.constants.profile, self.recorded.constants.profile
        if transport.boundary is not None:  # as it was recorded, in both
            start, end = (self.recorded.boundary[seconds] for seconds, _ in transport.boundary.shares())
            profiles = (start + transport.boundary.weight * (end - start),) * 2
        count = 0
        for number in range(one.shape[2]):
            some = slice(number, number + 1)
            both = (
                self._branches(whole(q[:, :, some]), (x, y, z), profile[some])
                for q, profile in zip((one, other), profiles, strict=True)
            )
            count += sum(int(np.count_nonzero(a != b)) for a, b in zip(*both, strict=True))
        return count

    def _branches(self, q: Array, air: tuple[Array, Array, Array], profile: Array) -> Iterator[Branches]:
        x, y, z = air
        turned, northward = np.swapaxes(q, -1, -2), np.swapaxes(y, -1, -2)
        west, east, south, north = BoundaryValues(profile, self.constants.top).along(*q.shape[-2:])
        yield along(with_sides(q, x, west, east), x)
        yield along(with_sides(turned, northward, south, north), northward)
        yield upward(q, z, self.constants.vertical_weights)

    def _between(self, pair: Pair, weight: float) -> Array:
        first, last = (self.recorded.area.whole(each) for each in pair)
        return np.asarray(first + weight * (last - first))


def _where_clipped(q: AnyArray, clipped: Array | None) -> AnyArray:
    """Return where packed values were clipped at zero: in blocks that clipped something, as far as that is known."""
    where = q == 0.0
    return np.asarray(where if clipped is None else where & (clipped[..., None, None] > 0.0))


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

    given  further parameters of :class:`airshed.Simulation`: meteorology, initial
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


TAYLOR_SIZES: Final = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
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
    given  further parameters of :class:`airshed.Simulation`: meteorology, initial, allow_code
    Its `ok` states whether the remainder is of second order; in even air it may be `undecided`, which is not ok.
    Takes six runs of so many steps: seconds for a small case, a minute for 28,800 cells; rates compile a kernel of
    their own. Raises AirshedError for what is wrong with the case.
    """
    run, made = recorded(case, cost, steps=steps, **given)
    with closing(Replay(run, made or random_cost(run, seed + 1))) as replay:
        return remainders(replay, kind, random_direction(run, seed).only(kind))


def remainders(replay: Replay, kind: str, direction: Direction, sizes: Sequence[float] = TAYLOR_SIZES) -> Taylor:
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


DIFFERENCE_SIZES: Final = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


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
    given  further parameters of :class:`airshed.Simulation`: meteorology, initial, allow_code
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
    replay: Replay, adjoint: Direction, direction: Direction, sizes: Sequence[float] = DIFFERENCE_SIZES
) -> Differences:
    """Return the derivative of a replay in a direction by its adjoint, and by central differences."""
    by_size = {size: (replay.value(direction, size) - replay.value(direction, -size)) / (2.0 * size) for size in sizes}
    return Differences(sum(products(adjoint, direction).values()), by_size)
