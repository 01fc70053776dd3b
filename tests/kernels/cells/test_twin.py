"""The compiled solver makes the steps of its NumPy reference, one by one; the comparison detects planted changes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from airshed.core.errors import KernelError
from airshed.kernels.backends.cpu.cells import CellKernel, CellSolver
from airshed.kernels.cells import METHODS, Sources, Tableau, Tolerances, stack_inputs
from airshed.kernels.cells.arguments import integrate_cells, series
from airshed.kernels.cells.reference import Cell, Step, StepControl, integrate
from airshed.kernels.schedule import noon
from airshed.mechanism import ReactionNetwork

Array = npt.NDArray[np.float64]
Chemistry = Callable[..., CellKernel]

TOLERANCES = Tolerances(1e-2, 1e3)
"""Loose ones: the length of a step follows from the error, a difference that lost as many digits as they ask for."""
LENGTH = 600.0
EMITTED, LOST = (1, 4), (0, 2, 4)


def state(network: ReactionNetwork, seed: int = 0) -> Array:
    return 10.0 ** np.random.default_rng(seed).uniform(6.0, 11.0, len(network.species))


def compare(solver: CellSolver, inputs: Array, y: Array, steps: list[Step], most: int, first: float = 0.0) -> float:
    """Return the greatest relative difference after each of the first steps; infinite where other steps are taken."""
    worst = 0.0
    for count in range(1, min(most, len(steps)) + 1):
        found = integrate_cells(replace(solver, most_steps=count), y[:, None], inputs, 0.0, LENGTH, first=first)
        wanted, taken = steps[count - 1], steps[:count]
        accepted = sum(each.accepted for each in taken)
        if (found.accepted[0], found.rejected[0]) != (accepted, count - accepted):
            return np.inf
        clipped = np.sum([each.clipped for each in taken], axis=0)
        small = 1e-9 * TOLERANCES.absolute
        worst = max(
            worst, abs(found.reached[0] / wanted.time - 1.0) if wanted.time else abs(found.reached[0]),
            np.max(np.abs(found.y[:, 0] - wanted.y) / (np.abs(wanted.y) + small)),
            np.max(np.abs(found.clipped[:, 0] - clipped) / (np.abs(wanted.y) + clipped + small)),
        )  # fmt: skip
    return float(worst)


def still(
    chemistry: Chemistry, name: str, tableau: Tableau, most: int, *,
    seed: int = 0, twin: Tableau | None = None, first: float = 0.0,
) -> float:  # fmt: skip
    """Compare in air that stays as it is; `twin`: its method, where that is another one."""
    kernel = chemistry(name)
    values, y = noon(kernel.network), state(kernel.network, seed)
    solver = kernel.solver(tableau, TOLERANCES)
    steps = integrate(
        Cell.still(kernel.network, values), twin or tableau, y, 0.0, LENGTH,
        StepControl(TOLERANCES, most_steps=most, first=first),
    )  # fmt: skip
    return compare(solver, stack_inputs(kernel, values, (), 1), y, list(steps), most, first)


def moving_air(t: Any) -> dict[str, Any]:
    """Return air that warms and clears up within ten minutes, as polynomials that five coefficients hold."""
    return {"TEMP": 280.0 + 10.0 * t / LENGTH, "daylight": 0.5 + 0.4 * (t / LENGTH) ** 2, "SUN": 0.5 + 0.1 * t / LENGTH}


def moving(
    chemistry: Chemistry, tableau: Tableau, most: int, *, forget: bool = False, longest: float = np.inf
) -> float:
    """Compare under varying forcing, with emission and loss; `forget`: the reference without df/dt."""
    kernel = chemistry("toy")
    network, y = kernel.network, state(kernel.network, 2)

    def emission(t: Any) -> list[Any]:
        return [1e7 * (1.0 + t / LENGTH), 3e6]

    def loss(t: Any) -> list[Any]:
        return [1e-3, 2e-4 * (2.0 - t / LENGTH), 1e-5]

    def spread(numbers: tuple[int, ...], values: list[float]) -> Array:
        table = np.zeros(len(network.species))
        table[list(numbers)] = values
        return table

    def air(t: Any) -> dict[str, Any]:
        return {**noon(network), **moving_air(t)}

    inputs = series(kernel, air, 0.0, LENGTH, degree=4, sources=lambda t: [*emission(t), *loss(t)])
    cell = Cell(
        network, air, lambda t: spread(EMITTED, emission(t)), lambda t: spread(LOST, loss(t)), constant=forget
    )  # fmt: skip
    solver = kernel.solver(tableau, TOLERANCES, Sources(EMITTED, LOST), longest=longest)
    steps = integrate(cell, tableau, y, 0.0, LENGTH, StepControl(TOLERANCES, longest, most_steps=most))
    return compare(solver, inputs, y, list(steps), most)


@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_the_solver_takes_the_steps_of_its_twin(chemistry: Chemistry, tableau: Tableau, seed: int) -> None:
    assert still(chemistry, "toy", tableau, 60, seed=seed) < 1e-12


@pytest.mark.compiles
@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_the_steps_of_a_large_mechanism_are_those_of_its_twin(chemistry: Chemistry, tableau: Tableau) -> None:
    """The later ones less sharply: where the error is far below the tolerance, the length of a step has few digits."""
    for step in (1e-6, 1e-3):
        assert still(chemistry, "emep", tableau, 1, first=step) < 1e-12
    assert still(chemistry, "emep", tableau, 8) < 1e-9


@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("longest", [np.inf, 7.0])
def test_what_changes_with_time_is_as_in_the_twin(chemistry: Chemistry, tableau: Tableau, longest: float) -> None:
    """Less sharp: df/dt is a difference of two nearly equal numbers."""
    assert moving(chemistry, tableau, 40, longest=longest) < 1e-10


def test_a_forgotten_change_with_time_shows(chemistry: Chemistry) -> None:
    assert moving(chemistry, METHODS["rodas4"], 40, forget=True) > 1e-9


class UncheckedTableau(Tableau):
    """A method without checks of its coefficients."""

    def __post_init__(self) -> None:
        pass


def unchecked(tableau: Tableau, **changes: object) -> Tableau:
    """Return a method with other coefficients, which the check of tableaux would refuse."""
    given = {name: getattr(tableau, name) for name in ("name", "order", "gamma", "a", "c", "m", "e")}
    with pytest.raises(KernelError):
        replace(tableau, **changes)  # type: ignore[arg-type]
    return UncheckedTableau(**{**given, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_a_changed_digit_shows(chemistry: Chemistry, tableau: Tableau) -> None:
    wrong = unchecked(tableau, m=(tableau.m[0] + 1e-9, *tableau.m[1:]))
    assert still(chemistry, "toy", tableau, 10, twin=wrong) > 1e-11
