"""Tests of derivatives: dot products, Taylor remainders, and central differences.

    <w, M d> = <M^T w, d>                                   the adjoint is the transpose of the tangent M
    R(e) = |J(x + e d) - J(x) - e J'(x) d|                  decreases with e^2
    (J(x + e d) - J(x - e d)) / (2 e)  against  <grad J, d>

with random perturbations d of an input and weights w of the results. In uniform air a limiter switches at every e: the
Taylor remainder is then of first order for any derivative, and the test is undecided.
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
from airshed.inverse.verify.recording import STEPS, CostOrMaker, RecordedRun, random_cost, random_direction, record_case
from airshed.inverse.verify.replay import Replay
from airshed.kernels.host import AnyArray
from airshed.kernels.step.arguments import Pair, StepConstants
from airshed.kernels.transport.reference import ALPHA, BETA, BoundaryValues, with_sides
from airshed.models.air.case import Case
from airshed.models.air.programs.records import FormulaStep

Branches = npt.NDArray[np.int8]

EXTREMUM, SMOOTH, AHEAD, BEHIND = range(4)


def branch(before: Array, upstream: Array, downstream: Array, alpha: Array | float, beta: Array | float) -> Branches:
    """Return the branch of :func:`airshed.kernels.transport.reference.face_value` at each face, one of the four."""
    behind, ahead = upstream - before, downstream - upstream
    rising = np.sign(ahead)
    smooth, size, other = np.abs(alpha * ahead + beta * behind), np.abs(ahead), np.abs(behind)
    found = np.where(smooth < np.minimum(size, other), SMOOTH, np.where(size < other, AHEAD, BEHIND))
    return np.where(rising * np.sign(behind) <= 0.0, EXTREMUM, found).astype(np.int8)


def along(cells: Array, air: Array) -> Branches:
    """Return the branches of faces along the last axis, 0 where the mass flux is zero; shapes as in ``flux_along``."""
    west2, west, east, east2 = (cells[..., i : i + air.shape[-1]] for i in range(4))
    positive, negative = branch(west2, west, east, ALPHA, BETA), branch(east2, east, west, ALPHA, BETA)
    return np.where(air > 0.0, positive, np.where(air < 0.0, negative, 0)).astype(np.int8)


def upward(q: Array, air: Array, weights: Array) -> Branches:
    """Return the branches of faces between levels; shapes as in ``upward_flux``."""
    below2, above2 = q[:, [0, *range(q.shape[1] - 2)]], q[:, [*range(2, q.shape[1]), q.shape[1] - 1]]
    alpha, beta, alpha_down, beta_down = weights[:-1].T[:, :, None, None]
    rising = branch(below2, q[:, :-1], q[:, 1:], alpha, beta)
    falling = branch(above2, q[:, 1:], q[:, :-1], alpha_down, beta_down)
    return np.where(air[:-1] > 0.0, rising, np.where(air[:-1] < 0.0, falling, 0)).astype(np.int8)


@dataclass
class Crossings:
    """Counts of differences between two runs, summed over steps.

    switches  faces whose limiter takes a different branch
    clips     values that are clipped in only one of the runs
    """

    recorded: RecordedRun
    constants: StepConstants
    switches: int = 0
    clips: int = 0
    _noted: list[tuple[AnyArray, AnyArray]] = field(default_factory=list, repr=False)
    _compared: int = 0

    def start(self) -> None:
        """Restart at the first part of the first step."""
        self._compared = self.switches = self.clips = 0

    def note(self, step: FormulaStep | None, before: AnyArray, after: AnyArray, clipped: Array | None) -> None:
        """Store a part of a step of the reference run."""
        self._noted.append((before.copy(), _where_clipped(after, clipped)))

    def compare(self, step: FormulaStep | None, before: AnyArray, after: AnyArray, clipped: Array | None) -> None:
        """Count the differences from the reference run in a part of a step."""
        run, (other, where) = self.recorded, self._noted[self._compared]
        if step is not None and any(each.kind == "face_flux" for each in run.derivatives.operators):
            self.switches += self._faces(step, before, other)
        differs = _where_clipped(after, clipped) != where
        self.clips += int(run.area.whole(differs).sum())
        self._compared += 1

    def _faces(self, step: FormulaStep, one: AnyArray, other: AnyArray) -> int:
        """Count faces with different branches, one species at a time to fit caches."""
        whole, transport = self.recorded.area.whole, step.forcing.transport
        x, y = (self._between(pair, transport.weight) for pair in (transport.flux_x, transport.flux_y))
        z = self._between(transport.flux_z, transport.weight_z)
        profiles = self.constants.profile, self.recorded.constants.profile
        if transport.boundary is not None:  # the recorded boundary, in both runs
            start, end = (self.recorded.boundary[seconds] for seconds, _ in transport.boundary.shares())
            profiles = (start + transport.boundary.weight * (end - start),) * 2
        count = 0
        for number in range(one.shape[2]):
            some = slice(number, number + 1)
            both = (
                self._branches(whole(q[:, :, some]), (x, y, z), profile[number :: one.shape[2]])
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
    """Return where packed values were clipped at zero, limited to blocks with clipped amounts if these are known."""
    where = q == 0.0
    return np.asarray(where if clipped is None else where & (clipped[..., None, None] > 0.0))


LIMITS: Final[Mapping[str, float]] = {"double": 1e-12, "single": 1e3 * float(np.finfo(np.float32).eps)}
"""Maximum relative error from round-off, by the precision of the steps; a wrong term gives 1e-3.

The largest errors found are 58 epsilons in double and 125 in single precision.
"""
NO_EFFECT: Final = (
    "nothing was tested: no input has an effect in this run. Set mixing ratios with [boundary] or initial=..."
)


@dataclass(frozen=True)
class DotProducts:
    """Both sides of the dot products of a run, by the kind of input.

    by_tangent  <w, M d>
    by_adjoint  <M^T w, d>
    sizes       root of the sum of squares of the terms of <M^T w, d>: its expected size for random signs
    limit       limit of relative errors: 1e-12 for steps in double precision, 1000 epsilons (1.2e-4) in single
    """

    steps: int
    by_tangent: Mapping[str, float]
    by_adjoint: Mapping[str, float]
    sizes: Mapping[str, float]
    limit: float

    @property
    def errors(self) -> dict[str, float]:
        """Differences relative to the larger side, or to `sizes`, the magnitudes of the terms; 0 for no effect."""
        found = {}
        for kind, one in self.by_tangent.items():
            other = self.by_adjoint[kind]
            found[kind] = abs(one - other) / (max(abs(one), abs(other), self.sizes[kind]) or 1.0)
        return found

    @property
    def worst(self) -> float:
        """Largest error."""
        return float(np.max(list(self.errors.values())))  # NaN if one of them is NaN

    @property
    def empty(self) -> bool:
        """True if no input has an effect, as without any mixing ratios: then nothing was tested."""
        return not any(self.sizes.values()) and not any(self.by_tangent.values())

    @property
    def ok(self) -> bool:
        """True if all errors are round-off, and at least one input has an effect."""
        return self.worst <= self.limit and not self.empty

    def table(self) -> Table:
        """Return both sides and their difference."""
        rows = [
            (kind, self.by_tangent[kind], self.by_adjoint[kind], error, error <= self.limit)
            for kind, error in self.errors.items()
        ]
        columns = ("input", "by the tangent", "by the adjoint", "relative error", "holds")
        note = f"; {NO_EFFECT}" if self.empty else ""
        return Table(f"Dot products over {self.steps} steps", columns, rows, f"holds: at most {self.limit:.2g}{note}")

    def __str__(self) -> str:
        return self.table().to_text()


def dot_product_test(
    case: Case | str | Path, *, steps: int = STEPS, seed: int = 0, allow_code: bool = False, **given: Any
) -> DotProducts:
    """Test that the adjoint is the transpose of the tangent, for each kind of input over the first steps of a case.

    Both sides agree to 1e-12 with `chemistry.precision = "double"`, and to 1.2e-4 with "single". The first test
    compiles tangent and adjoint, a minute or two for 66 species. Later tests take seconds for a small case, tens of
    seconds for 28,800 cells.

    Parameters
    ----------
    case : Case, str or Path
        Case, or its folder.
    steps : int
        Number of steps.
    seed : int
        Seed of the random perturbations and weights.
    **given
        Further parameters of :class:`airshed.Simulation`: meteorology, initial.

    Returns
    -------
    DotProducts
        Both sides, errors, and `ok`.

    Raises
    ------
    AirshedError
        If the case is invalid.

    Examples
    --------
    >>> print(airshed.inverse.dot_product_test("cases/west-europe"))
    """
    run, _ = record_case(case, steps=steps, allow_code=allow_code, **given)
    return dot_products(run, seed)


def dot_products(run: RecordedRun, seed: int = 0) -> DotProducts:
    """Return the dot products of a recorded run."""
    direction = random_direction(run, seed, zeros=True)
    with closing(Replay(run, random_cost(run, seed + 1))) as replay:
        replay.tangent(direction)
        replay.set_cost(random_cost(run, seed + 1, replay.change))
        adjoint = replay.backward()
        by_adjoint = products(adjoint, direction)
        by_tangent = {kind: replay.tangent(direction.only(kind)) for kind in by_adjoint}
    limit = LIMITS[run.derivatives.precision]
    return DotProducts(len(run.steps), by_tangent, by_adjoint, sizes(adjoint, direction), limit)


def sizes(adjoint: Direction, direction: Direction) -> dict[str, float]:
    """Return the root of the sum of squares of the terms of each dot product, by the kind of input."""
    one, other = (each.map(lambda part: np.square(part, dtype=np.float64)) for each in (adjoint, direction))
    return {kind: float(np.sqrt(each)) for kind, each in products(one, other).items()}


TAYLOR_SIZES: Final = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
"""Sizes of perturbations, over four decades."""

ORDER: Final = 1.8
"""Minimum fitted order of a remainder of second order."""

_ROUND_OFF: Final = {"double": 1e-13, "single": 2.0 * float(np.finfo(np.float32).eps)}
_UNDECIDED: Final = (
    "; undecided: limiters switched, or values were clipped, at every size, as with a wrong derivative. "
    "Set nonuniform mixing ratios (initial=...), or use dot_product_test"
)


@dataclass(frozen=True)
class Remainder:
    """Remainder at a size of perturbations, with the differences counted by :class:`Crossings`."""

    size: float
    remainder: float
    switches: int
    clips: int


@dataclass(frozen=True)
class Taylor:
    """Taylor remainders in one direction.

    value       J(x)
    derivative  J'(x) d
    round_off   relative round-off of the cost: 1e-13 for steps in double precision, 2 epsilons (2.4e-7) in single
    """

    kind: str
    value: float
    derivative: float
    remainders: Sequence[Remainder]
    round_off: float

    @property
    def above_round_off(self) -> list[Remainder]:
        """Remainders that exceed the round-off of the cost, or are NaN."""
        return [each for each in self.remainders if not each.remainder <= self.round_off * abs(self.value)]

    @property
    def order(self) -> float:
        """Fitted order of the remainders; infinite if fewer than two exceed round-off, NaN for NaN."""
        points = self.above_round_off
        if not all(np.isfinite(each.remainder) for each in points):
            return float("nan")
        if len(points) < 2:
            return float("inf")
        sizes, remainders = (np.log([getattr(each, name) for each in points]) for name in ("size", "remainder"))
        return float(np.polyfit(sizes, remainders, 1)[0])

    @property
    def empty(self) -> bool:
        """True if the perturbations have no effect: then nothing was tested."""
        return self.derivative == 0.0 and all(each.remainder == 0.0 for each in self.remainders)

    @property
    def ok(self) -> bool:
        """True if the remainder is of second order: the derivative is correct. Otherwise see `undecided`."""
        return self.order >= ORDER and not self.empty

    @property
    def undecided(self) -> bool:
        """True if limiters or clipping may explain a lower order at every size of perturbations."""
        return self.order < ORDER and all(each.switches + each.clips > 0 for each in self.above_round_off)

    def table(self) -> Table:
        """Return the remainders."""
        whole = abs(self.value) or 1.0
        rows = [(each.size, each.remainder / whole, each.switches, each.clips) for each in self.remainders]
        note = f"J = {self.value:.6g}, its derivative {self.derivative:.6g}; order of the remainder {self.order:.2f}"
        if self.empty:
            note += f"; {NO_EFFECT}"
        elif not self.ok:
            note += _UNDECIDED if self.undecided else ", and no switch of a limiter explains it"
        columns = ("size of changes", "remainder over J", "limiters that switched", "values clipped in one run only")
        return Table(f"Taylor test, {self.kind}", columns, rows, note)

    def __str__(self) -> str:
        return self.table().to_text()


def taylor_test(
    case: Case | str | Path, cost: CostOrMaker = None, *, kind: str = INITIAL, steps: int = STEPS, seed: int = 0,
    **given: Any,
) -> Taylor:  # fmt: skip
    """Test the order of Taylor remainders for random perturbations of one kind of input.

    The perturbations are 1e-1 to 1e-5 of the input. The test takes six runs: seconds for a small case, a minute for
    28,800 cells. Perturbations of rates compile an additional kernel.

    Parameters
    ----------
    case : Case, str or Path
        Case, or its folder.
    cost : Cost or callable, optional
        See :func:`airshed.inverse.gradient`; by default a weighted sum of all mixing ratios at the end. Each run uses
        a deep copy.
    kind : str
        initial, emission, boundary, top, rates, "number NAME" or "field NAME" of an operator.
    steps : int
        Number of steps.
    seed : int
        Seed of the random perturbations and weights.
    **given
        Further parameters of :class:`airshed.Simulation`: meteorology, initial, allow_code.

    Returns
    -------
    Taylor
        Remainders. `ok` is True if they are of second order. In uniform air the test may be `undecided`, which is
        not ok.

    Raises
    ------
    AirshedError
        If the case is invalid.

    Examples
    --------
    >>> print(airshed.inverse.taylor_test("cases/west-europe", kind="emission"))
    """
    run, made = record_case(case, cost, steps=steps, **given)
    with closing(Replay(run, made or random_cost(run, seed + 1))) as replay:
        return remainders(replay, kind, random_direction(run, seed).only(kind))


def remainders(replay: Replay, kind: str, direction: Direction, sizes: Sequence[float] = TAYLOR_SIZES) -> Taylor:
    """Return the Taylor remainders of a replay in a direction."""
    derivative, run = replay.tangent(direction), replay.recording
    crossings = Crossings(run, run.constants)
    value = replay.value(observer=crossings.note)
    found = []
    for size in sizes:
        crossings.constants = Changes(direction, run.area, run.members).constants(run.constants, size)
        crossings.start()
        there = replay.value(direction, size, crossings.compare)
        left = abs(there - value - size * derivative)
        found.append(Remainder(size, left, crossings.switches, crossings.clips))
    return Taylor(kind, value, derivative, found, _ROUND_OFF[run.derivatives.precision])


DIFFERENCE_SIZES: Final = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


@dataclass(frozen=True)
class Differences:
    """Derivative in one direction by the gradient, and by central differences for each size of perturbations."""

    by_gradient: float
    by_size: Mapping[float, float]

    def error(self, size: float) -> float:
        """Return the relative difference at a size of perturbations."""
        other = self.by_size[size]
        return abs(other - self.by_gradient) / (max(abs(other), abs(self.by_gradient)) or 1.0)

    @property
    def best(self) -> float:
        """Size at which both derivatives are closest."""
        return min(self.by_size, key=self.error)


@dataclass(frozen=True)
class DifferenceCheck:
    """Gradient and central differences, by the kind of input."""

    steps: int
    found: Mapping[str, Differences]

    @property
    def errors(self) -> dict[str, float]:
        """Relative differences, each at its best size."""
        return {kind: each.error(each.best) for kind, each in self.found.items()}

    def table(self) -> Table:
        """Return both derivatives and their relative difference at the best size."""
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
    """Compare the gradient with central differences in random directions.

    The perturbations are 1e-2 to 1e-6 of each input. Each kind takes ten runs: seconds for a small case, tens of
    seconds for 28,800 cells.

    Parameters
    ----------
    case : Case, str or Path
        Case, or its folder.
    cost : Cost or callable, optional
        See :func:`airshed.inverse.gradient`; the run ends at its last time, with all levels in memory. By default a
        weighted sum of all mixing ratios after `steps` steps. Each run uses a deep copy.
    kinds : sequence of str, optional
        Kinds of inputs; by default all except rates, which compile an additional kernel.
    steps : int
        Number of steps without a cost.
    seed : int
        Seed of the random perturbations and weights.
    **given
        Further parameters of :class:`airshed.Simulation`: meteorology, initial, allow_code.

    Returns
    -------
    DifferenceCheck
        Both derivatives by the kind of input.

    Raises
    ------
    AirshedError
        If the case is invalid.

    Examples
    --------
    >>> print(airshed.inverse.finite_difference_check("cases/west-europe"))
    """
    run, made = record_case(case, cost, steps=steps, **given)
    direction = random_direction(run, seed)
    with closing(Replay(run, made or random_cost(run, seed + 1))) as replay:
        adjoint = replay.backward()
        chosen = kinds or [kind for kind in direction.parts() if kind != RATES]
        return DifferenceCheck(
            len(run.steps), {kind: differences(replay, adjoint, direction.only(kind)) for kind in chosen}
        )  # fmt: skip


def differences(
    replay: Replay, adjoint: Direction, direction: Direction, sizes: Sequence[float] = DIFFERENCE_SIZES
) -> Differences:
    """Return the derivative of a replay in a direction by its adjoint, and by central differences."""
    by_size = {size: (replay.value(direction, size) - replay.value(direction, -size)) / (2.0 * size) for size in sizes}
    return Differences(sum(products(adjoint, direction).values()), by_size)
