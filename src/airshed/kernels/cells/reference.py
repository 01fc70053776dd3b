"""Reference implementation in NumPy of Rosenbrock methods and of formulas of cells.

Chemistry: one cell, a dense matrix, the formulas of ``kernels.cells.tableau``.

Step control is that of ``cells/rosenbrock.hpp``, so that both make the same steps. Let E be the root mean square of the
error over absolute + relative max(y, y new). A step h of a method of order p is accepted if E <= 1, and

    h new = h min(6, max(1/5, 0.9 E^(-1/p))),    not longer than h after a rejection;    then: max(1/10, ...)

E is infinite if elimination, in the order of the compiled code, meets a negative pivot. The rest of the interval is
covered by one step, or by two equal ones. Negative concentrations: see ``kernels.cells.positivity``.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from airshed.core.arrays import Array
from airshed.formula import evaluate_all
from airshed.formula.trace import TracedFunction
from airshed.kernels.cells import Tolerances
from airshed.kernels.cells.arguments import MOST_STEPS
from airshed.kernels.cells.formulas import DTYPES, StepValues
from airshed.kernels.cells.positivity import HELD, above_zero, is_overdrawn
from airshed.kernels.cells.sparsity import eliminate, pattern_of
from airshed.kernels.cells.tableau import Tableau
from airshed.kernels.host import AnyArray
from airshed.mechanism.expressions import Environment
from airshed.mechanism.network import ReactionNetwork, rates, tendency

_PART_OF_STEP = 1e-3
"""Interval of the central difference for df/dt, relative to the step."""

_SHORTEST_GUESS = 1e-15
"""Shortest first step, relative to the interval."""


@dataclass(frozen=True)
class Cell:
    """Equation of one cell, dy/dt = f(t, y) = chemistry + E - D y, with coefficients that are functions of time t [s].

    environment  inputs of its rate constants
    emission     E [molecules cm-3 s-1], (species,)
    loss         D [s-1], (species,)
    constant     whether all of them are constant, so that df/dt is zero
    factors      on the rates of reactions, (reaction,) or one; factors, E, D and y may be complex
    fixed_rates  constant rate constants (reaction,); None computes them from the environment
    """

    network: ReactionNetwork
    environment: Callable[[float], Environment]
    emission: Callable[[float], Array]
    loss: Callable[[float], Array]
    constant: bool = True
    factors: Any = 1.0
    fixed_rates: Array | None = None

    @classmethod
    def still(cls, network: ReactionNetwork, environment: Environment, fixed_rates: Array | None = None) -> "Cell":
        """Return a cell with constant inputs, without emission and loss."""
        none = np.zeros(len(network.species))
        return cls(network, lambda t: environment, lambda t: none, lambda t: none, fixed_rates=fixed_rates)

    def rates(self, t: float) -> Array:
        """Return the rate constants, (reaction,)."""
        found = rates(self.network, self.environment(t)) if self.fixed_rates is None else self.fixed_rates
        return np.asarray(found * self.factors)

    def change(self, t: float, y: Array) -> Array:
        """Return f(t, y), (species,)."""
        return np.asarray(tendency(self.network, self.rates(t), y) + self.emission(t) - self.loss(t) * y)

    def jacobian(self, t: float, y: Array) -> Array:
        """Return df_i/dy_j, (species, species), by the product rule."""
        k, loss = self.rates(t), self.loss(t)
        matrix = np.diag(-loss).astype(np.result_type(k, loss, y))
        for number, net in enumerate(self.network.net_stoichiometry):
            reactants = self.network.reactant_indices[number]
            for left_out, reactant in enumerate(reactants):
                others = reactants[:left_out] + reactants[left_out + 1 :]
                slope = k[number] * np.prod(y[list(others)])
                for species, coefficient in net:
                    matrix[species, reactant] += coefficient * slope
        return matrix

    def drift(self, t: float, y: Array, step: float) -> Array:
        """Return df/dt at fixed y, (species,); f is linear in the rate constants, E and D, which are differenced."""
        if self.constant:
            return np.zeros_like(y)
        small = _PART_OF_STEP * step

        def slope(values: Callable[[float], Array]) -> Array:
            return np.asarray((values(t + small) - values(t - small)) / (2.0 * small))

        return np.asarray(tendency(self.network, slope(self.rates), y) + slope(self.emission) - slope(self.loss) * y)


@dataclass(frozen=True)
class Step:
    """Step of an integration, accepted or not.

    time     [s] at its end, or at its start if it was rejected;  following  [s] next step to try
    error    root mean square of the error over its tolerance
    y        (species,) concentrations at `time`;  clipped  amounts that the step added to negative concentrations
    """

    time: float
    following: float
    error: float
    accepted: bool
    y: Array
    clipped: Array


@dataclass(frozen=True)
class StepControl:
    """Step control.

    longest  [s];  first  [s] first step, 0 if unknown
    """

    tolerances: Tolerances
    longest: float = np.inf
    first: float = 0.0
    most_steps: int = MOST_STEPS


def integrate(
    cell: Cell, method: Tableau, y: Array, start: float, end: float, control: StepControl
) -> Iterator[Step]:  # fmt: skip
    """Yield the steps of an integration of y (species,) [molecules cm-3] from `start` to `end` [s]."""
    tolerances, longest = control.tolerances, control.longest
    time, following, rejected = start, control.first or _first_step(cell, y, start, end, tolerances), False
    order = eliminate(pattern_of(cell.network)).order
    for _ in range(control.most_steps):
        step = _choose(end - time, min(following, longest))
        new, error = _advance(cell, method, time, step, y, tolerances, order)
        factor = 0.9 * max(error, 1e-10) ** (-1.0 / method.order) if np.isfinite(error) else 0.0
        accepted = error <= 1.0
        if accepted:
            grown = step * min(max(factor, 0.2), 1.0 if rejected else 6.0)
            following = max(grown, min(following, longest)) if step < following else grown
            time = end if step >= end - time else time + step
            y = above_zero(cell.network, new)
            clipped = y - new
        else:
            following, clipped = step * max(factor, 0.1), np.zeros_like(y)
        rejected = not accepted
        yield Step(time, following, error, accepted, y, clipped)
        if time >= end:
            return


def _choose(left: float, following: float) -> float:
    if following >= left:
        return left
    return 0.5 * left if 2.0 * following > left else following


def _first_step(cell: Cell, y: Array, start: float, end: float, tolerances: Tolerances) -> float:
    """Return a step that changes y by a hundredth of its size, both measured in tolerances."""
    weight = tolerances.absolute + tolerances.relative * y
    size, speed = np.sum((y / weight) ** 2), np.sum((cell.change(start, y) / weight) ** 2)
    guess = 0.01 * np.sqrt(max(size, 1.0) / speed) if speed > 0.0 else np.inf
    return float(min(max(guess, _SHORTEST_GUESS * (end - start)), end - start))


def take(cell: Cell, method: Tableau, time: float, step: float, y: Array) -> Array:
    """Return y after one step of a given length, without negative values; its complex step is its derivative."""
    stages, *_ = _stages(cell, method, time, step, y)
    new = y + sum(m * k for m, k in zip(method.m, stages, strict=True))
    return above_zero(cell.network, new)


def _stages(
    cell: Cell, method: Tableau, time: float, step: float, y: Array
) -> tuple[list[Array], Array, Array]:  # fmt: skip
    """Return the stages K_i of a step, their matrix, and the last production of species held at zero."""
    drift = cell.drift(time, y, step)
    held = is_overdrawn(cell.network) & (y.real <= 0.0) & (cell.change(time, y).real < 0.0)
    matrix = np.diag(np.where(held, HELD, 1.0)) / (method.gamma * step) - cell.jacobian(time, y)
    stages: list[Array] = []
    for i in range(method.stages):
        if method.evaluates[i]:
            argument = y + sum((a * k for a, k in zip(method.a[i], stages, strict=True)), np.zeros_like(y))
            change = cell.change(time + method.alpha[i] * step, argument)
        right = change + method.gamma_sums[i] * step * drift
        right = right + sum((c / step * k for c, k in zip(method.c[i], stages, strict=True)), np.zeros_like(y))
        stages.append(np.asarray(np.linalg.solve(matrix, right)))
    return stages, matrix, np.where(held, step * np.maximum(change.real, 0.0), 0.0)


def _advance(
    cell: Cell, method: Tableau, time: float, step: float, y: Array, tolerances: Tolerances, order: Sequence[int]
) -> tuple[Array, float]:
    """Return y after a step, and the root mean square of error / tolerance; infinite beyond a pole."""
    stages, matrix, produced = _stages(cell, method, time, step, y)
    new = y + sum(m * k for m, k in zip(method.m, stages, strict=True))
    error = sum(e * k for e, k in zip(method.e, stages, strict=True))
    limited = is_overdrawn(cell.network)
    error = np.where(limited, np.maximum(new, 0.0) - np.maximum(new - error, 0.0) + produced, error)
    below = np.where(limited, 0.0, np.minimum(new, 0.0))
    tolerated = tolerances.absolute + tolerances.relative * np.maximum(new, y)
    beyond = _has_negative_pivot(matrix[np.ix_(order, order)])
    return np.asarray(new), np.inf if beyond else float(np.sqrt(np.mean((error**2 + below**2) / tolerated**2)))


def _has_negative_pivot(matrix: Array) -> bool:
    """Return whether 1/(gamma h) - J has a negative pivot: a growth by more than e^(1/gamma) over the step."""
    left = matrix.copy()
    for pivot in range(len(left)):
        if left[pivot, pivot] < 0.0:
            return True
        below = slice(pivot + 1, None)
        left[below, below] -= np.outer(left[below, pivot], left[pivot, below] / left[pivot, pivot])
    return False


class ReferenceCells:
    """Reference implementation of :class:`airshed.kernels.cells.formulas.CellFormulas`, with the same arguments."""

    def __init__(
        self, traced: TracedFunction, precision: str = "double", *, names: Sequence[str] = (),
        invariant: Collection[str] = (), threads: int = 1,
    ) -> None:  # fmt: skip
        self.traced, self.names, self.dtype = traced, tuple(names), DTYPES[precision]
        self._of_steps = set(traced.inputs).difference(invariant, names)

    def advance(
        self, values: Mapping[str, Any], steps: int, out: Sequence[AnyArray | None] | None = None,
        *, records: Mapping[str, AnyArray | StepValues] | None = None,
    ) -> list[AnyArray]:  # fmt: skip
        """Return the values after a number of steps."""
        current = {name: np.asarray(values[name], self.dtype) for name in self.traced.inputs}
        rows = {name: current[name] for name in self._of_steps if current[name].ndim}
        shape = np.broadcast_shapes(
            *(array.shape[1:] if name in rows else array.shape for name, array in current.items())
        )
        found: dict[str, AnyArray] = {}
        for step in range(steps):
            now = {**current, **found, **{name: array[step] for name, array in rows.items()}}
            made = evaluate_all(self.traced.outputs, now, dtype=self.dtype)
            found = dict(zip(self.names, (np.broadcast_to(one, shape) for one in made), strict=True))
            for name, record in (records or {}).items():
                array, row = (record.values, record.rows[step]) if isinstance(record, StepValues) else (record, step)
                if row >= 0:
                    array[row] = found[name]
        results = [np.empty(shape, self.dtype) if array is None else array for array in out or [None] * len(self.names)]
        for array, one in zip(results, found.values(), strict=True):
            array[...] = one
        return results

    def close(self) -> None:
        """Do nothing: there are no threads."""
