"""Every integrator has its claimed order; wrong spans or weights cause another slope, or are refused."""

from dataclasses import replace

import pytest

from airshed.core.errors import ProgramError
from airshed.program.check import check
from airshed.program.integrators import SPLITTINGS, imex, integrator
from airshed.program.stage import HALF, Program, add, cells, move
from airshed.program.weights import FORMULAS, GAMMA
from airshed.verify import convergence


@pytest.fixture(scope="module")
def problem():
    return convergence.make_problem()


@pytest.fixture(scope="module")
def exact(problem):
    return convergence.exact_solution(problem)


PROGRAMS = [imex(), *(integrator(name) for name in SPLITTINGS)]
APART = [pytest.param(integrator(name, split_columns=True), marks=pytest.mark.thorough) for name in SPLITTINGS]


INSIDE = Program("inside", 2, (move(0, HALF), cells(0, 1), move(HALF, 1)))
REVERSED = Program("lie in the other order", 1, (cells(0, 1), move(0, 1)))
EXTRAPOLATED = Program("extrapolated", 2, (
    move(0, 1, writes="whole"), cells(0, 1, "whole", "whole"), move(0, HALF), cells(0, HALF), move(HALF, 1),
    cells(HALF, 1), add([(2, "q"), (-1, "whole")]),
))  # fmt: skip
NO_INTEGRATORS = [INSIDE, REVERSED, pytest.param(EXTRAPOLATED, marks=pytest.mark.thorough)]


@pytest.mark.parametrize(
    "program", [*PROGRAMS, *NO_INTEGRATORS, *APART], ids=lambda program: f"{program.name} of {len(program.stages)}"
)
def test_the_observed_order_is_that_of_the_program(problem, exact, program):
    check(program)
    order = convergence.measured_order(program, problem, exact)
    assert order == pytest.approx(program.order, abs=convergence.TOLERANCE)


def test_uneven_halves_of_chemistry_are_of_first_order_and_refused(problem, exact):
    uneven = Program("uneven", 2, (cells(0, 0.9), move(0, 1), cells(0.9, 1)))
    assert convergence.measured_order(uneven, problem, exact) < 1.0 + convergence.TOLERANCE
    with pytest.raises(ProgramError, match="is of order 1, not 2"):
        check(uneven)


def test_half_of_the_chemistry_does_not_converge_and_is_refused(problem, exact):
    half = Program("half", 2, (cells(0, 0.5), move(0, 1)))
    assert convergence.measured_order(half, problem, exact) < convergence.TOLERANCE
    with pytest.raises(ProgramError, match=r"cells over 0\.5 of the step"):
        check(half)


def test_a_formula_of_first_order_is_detected(monkeypatch, problem, exact):
    """Euler in the second application of the one-step formula is exact only for constant rates."""
    formula = FORMULAS["ARS(2,2,2)"]

    def euler(step, previous):
        first, second = formula.applications(step, previous)
        rest = (1.0 - GAMMA) * step
        return first, replace(second, c0=1.0, c1=0.0, t0=rest, t1=0.0, g=rest)

    monkeypatch.setitem(FORMULAS, formula.name, replace(formula, applications=euler))
    assert convergence.measured_order(SPLITTINGS["strang"](), problem, exact) < 1.5


def test_two_step_formula_without_history_is_detected(monkeypatch, problem, exact):
    """IMEX without its history is the Euler method."""
    formula = FORMULAS["two-step"]
    monkeypatch.setitem(
        FORMULAS, formula.name, replace(formula, applications=lambda step, previous: formula.applications(step, None))
    )
    assert convergence.measured_order(imex(), problem, exact) < 1.0 + convergence.TOLERANCE


def test_the_check_has_a_figure_for_each_integrator(monkeypatch):
    monkeypatch.setattr(convergence, "measured_order", lambda program, problem, exact: float(program.order))
    monkeypatch.setattr(convergence, "exact_solution", lambda problem: None)
    figures = convergence.check()
    assert len(figures) == 1 + len(SPLITTINGS)
    assert all(figure.ok for figure in figures)
