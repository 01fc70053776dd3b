"""A solution that ends at infinity fails short of it rather than being stepped over; the narrow range of floats."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from airshed.kernels.backends.cpu.cells import CellKernel, CellSolver, compile_chemistry
from airshed.kernels.cells import METHODS, CellLayout, CellSteps, Tableau, Tolerances, pack_cells, stack_inputs
from airshed.kernels.cells.arguments import CellResults, Concentrations, integrate_cells, series
from airshed.kernels.cells.reference import Cell, StepControl, integrate
from airshed.kernels.schedule import noon
from airshed.mechanism import load_mechanism

Array = npt.NDArray[np.float64]
Chemistry = Callable[..., CellKernel]

K, LENGTH = 1e-10, 300.0
AMOUNTS = 10.0 ** np.linspace(7.7, 11.0, 12)
"""[molecules cm-3]; dA/dt = K A^2 goes to infinity at 1/(K A)."""
IDLE = "".join(f"S{number} = IGNORE;\n" for number in range(20))


def grown(folder: Path, products: str, precision: str, more: str = "") -> CellKernel:
    file = folder / "grow.def"
    file.write_text(f"#DEFVAR\nA = IGNORE;\n{more}#EQUATIONS\n<1> A + A = {products} : {K};\n", encoding="utf-8")
    return compile_chemistry(load_mechanism(file), precision)


def run(kernel: CellKernel, tableau: Tableau, relative: float, first: float) -> CellResults:
    y = np.zeros((len(kernel.network.species), len(AMOUNTS)))
    y[0] = AMOUNTS
    inputs = stack_inputs(kernel, noon(kernel.network), (), len(AMOUNTS))
    solver = CellSolver(kernel, tableau, Tolerances(relative, 1e4), most_steps=3000)
    return integrate_cells(solver, y, inputs, 0.0, LENGTH, first=first)


@pytest.mark.compiles
@pytest.mark.parametrize(
    ("precision", "more"), [("double", ""), ("single", IDLE)], ids=["alone", "among twenty that do nothing"]
)
def test_no_method_steps_over_infinity(tmp_path: Path, precision: str, more: str) -> None:
    kernel = grown(tmp_path, "3 A", precision, more)
    pole = 1.0 / (K * AMOUNTS)
    for tableau in METHODS.values():
        for relative, near in ((1e-4, 0.01), (1e-2, 0.2)):
            for first in (0.0, 3.0, 30.0, LENGTH):
                found = run(kernel, tableau, relative, first)
                assert np.all(found.reached < LENGTH), (tableau.name, relative, first)
                np.testing.assert_allclose(found.reached, pole, rtol=near, err_msg=f"{tableau.name} {relative} {first}")


@pytest.mark.compiles
@pytest.mark.parametrize("precision", ["double", "single"])
def test_a_decay_reaches_its_end(tmp_path: Path, precision: str) -> None:
    """The same reaction with one A less: A = A0 / (1 + K A0 t)."""
    kernel = grown(tmp_path, "A", precision)
    for tableau in METHODS.values():
        for first in (0.0, 3.0, 30.0, LENGTH):
            found = run(kernel, tableau, 1e-4, first)
            assert np.all(found.reached == LENGTH)
            np.testing.assert_allclose(found.y[0], AMOUNTS / (1.0 + K * AMOUNTS * LENGTH), rtol=1e-2)


@pytest.mark.compiles
def test_the_twin_is_rejected_at_the_same_steps(tmp_path: Path) -> None:
    kernel = grown(tmp_path, "3 A", "double")
    for tableau in METHODS.values():
        steps = list(integrate(
            Cell.still(kernel.network, noon(kernel.network)), tableau, np.array([1e9]), 0.0, LENGTH,
            StepControl(Tolerances(1e-2, 1e4), first=LENGTH, most_steps=30),
        ))  # fmt: skip
        assert any(np.isinf(step.error) for step in steps)
        inputs = stack_inputs(kernel, noon(kernel.network), (), 1)
        solver = CellSolver(kernel, tableau, Tolerances(1e-2, 1e4), most_steps=30)
        found = integrate_cells(solver, [[1e9]], inputs, 0.0, LENGTH, first=LENGTH)
        assert found.accepted[0] == sum(step.accepted for step in steps)
        np.testing.assert_allclose(found.reached[0], steps[-1].time, rtol=1e-10)


@pytest.mark.parametrize("absolute", [1e4, 1.0, 1e-12, 1e-30])
def test_a_first_step_is_guessed_in_single_precision_too(chemistry: Chemistry, absolute: float) -> None:
    """Speeds of empty species in units of a small tolerance are above the largest float; a step of 1 s came of it."""
    first = []
    for precision in ("double", "single"):
        kernel = chemistry("toy", precision)
        y = np.linspace(1e11, 4e13, len(kernel.network.species))[:, None]
        y[1::2] = 0.0
        inputs = stack_inputs(kernel, noon(kernel.network), (), 1)
        solver = CellSolver(kernel, METHODS["rodas4"], Tolerances(1e-2, absolute), most_steps=1)
        found = integrate_cells(solver, y, inputs, 0.0, 0.25)
        first.append(found.reached[0] if found.accepted[0] else found.step[0])
        assert found.accepted[0] + found.rejected[0] == 1
        assert 0.0 < first[-1] < 0.1
    assert first[1] == pytest.approx(first[0], rel=1e-2)


@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_single_precision_knows_how_air_changes(chemistry: Chemistry, tableau: Tableau) -> None:
    """df/dt as a difference of f, whose fast reactions balance each other, cost two digits and dozens of steps."""

    def air(t: Array) -> dict[str, npt.ArrayLike]:
        part = t / LENGTH
        return {**noon(kernel.network), "TEMP": 280.0 + 5.0 * part, "SUN": 0.5 + 0.05 * part, "daylight": 0.5 + part**2}

    found, tolerances = [], Tolerances(1e-5, 1e4)
    for precision in ("double", "single"):
        kernel = chemistry("toy", precision)
        y = 10.0 ** np.random.default_rng(3).uniform(6.0, 11.0, (len(kernel.network.species), 5))
        inputs = series(kernel, air, 0.0, LENGTH, degree=4, cells=5)
        found.append(integrate_cells(CellSolver(kernel, tableau, tolerances), y, inputs, 0.0, LENGTH))
    double, single = found
    np.testing.assert_allclose(single.y, double.y, rtol=tolerances.relative)  # rounding differs with the width of packs
    assert abs(single.accepted - double.accepted).max() <= 1
    assert abs(single.rejected - double.rejected).max() <= 1


def test_mixing_ratios_stay_where_only_the_density_changes(chemistry: Chemistry) -> None:
    kernel = chemistry("tracer")
    width = kernel.shape.width
    inputs = series(
        kernel, lambda t: {**noon(kernel.network), "M": 2e19 + 1e16 * t}, 0.0, LENGTH, degree=2, cells=width
    )
    q = pack_cells(np.full((2, width), 4e-8), width)
    before = q.copy()
    place = CellLayout(1, 1, width, 2 * width, 0, width, mixing_ratios=True)
    solver = CellSolver(kernel, METHODS["ros3"])
    solver.advance(Concentrations(q, q, place), inputs, CellSteps.zeros(1, width), 0.0, LENGTH)
    np.testing.assert_allclose(q, before, rtol=1e-15)
