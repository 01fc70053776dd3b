"""Tableaux are checked when they are made: a changed digit, a method that is not L-stable, a wrong estimate."""

from dataclasses import replace

import numpy as np
import pytest

from airshed.core.errors import KernelError
from airshed.kernels.cells import METHODS, Tableau, method

PUBLISHED = {
    "ros2": ((0.0, 1.0), (1.0 + np.sqrt(0.5), -1.0 - np.sqrt(0.5))),
    "ros3": ((0.0, 0.43586652150846, 0.43586652150846), (0.43586652150846, 0.24291996454816805, 2.1851380027664058)),
    "rodas3": ((0.0, 0.0, 1.0, 1.0), (0.5, 1.5, 0.0, 0.0)),
    "rodas4": ((0.0, 0.386, 0.21, 0.63, 1.0, 1.0), (0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0)),
}
"""alpha_i and gamma_i of the stages: published sums, with the coefficients of the transformed form."""


FREE = {("rodas3", "e", 2), ("rodas3", "e", 3), ("rodas4", "e", 5)}
"""Last stages that are differences of two solutions themselves: any multiple of them is an estimate of that order."""


def coefficients(tableau: Tableau) -> list[tuple[str, int, int]]:
    """Return the positions of the published coefficients."""
    found = [("gamma", 0, 0)]
    found += [(name, 0, i) for name in ("m", "e") for i in range(tableau.stages)]
    found += [(name, i, j) for name in ("a", "c") for i in range(tableau.stages) for j in range(i)]
    return [(name, i, j) for name, i, j in found if (tableau.name, name, i if name in "ac" else j) not in FREE]


def changed(tableau: Tableau, where: tuple[str, int, int], by: float) -> Tableau:
    name, i, j = where
    value = getattr(tableau, name)
    if name == "gamma":
        return replace(tableau, gamma=value + by)
    rows = [list(row) for row in value] if name in "ac" else [list(value)]
    rows[i][j] += by
    return replace(tableau, **{name: tuple(map(tuple, rows)) if name in "ac" else tuple(rows[0])})


@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_the_sums_of_the_transformed_coefficients_are_those_published(tableau: Tableau) -> None:
    alpha, gamma_sums = PUBLISHED[tableau.name]
    np.testing.assert_allclose(tableau.alpha, alpha, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(tableau.gamma_sums, gamma_sums, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_a_changed_digit_is_caught_wherever_it_stands(tableau: Tableau) -> None:
    for where in coefficients(tableau):
        for by in (1e-9, -1e-9):
            with pytest.raises(KernelError, match=tableau.name):
                changed(tableau, where, by)


@pytest.mark.parametrize("name", ["rodas3", "rodas4"])
def test_the_error_of_a_stiffly_accurate_method_is_its_last_stage(name: str) -> None:
    stages = METHODS[name].stages
    assert METHODS[name].e == (0.0,) * (stages - 1) + (1.0,)


@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_the_order_is_not_claimed_higher_than_it_is(tableau: Tableau) -> None:
    if tableau.order < 4:
        with pytest.raises(KernelError, match=f"of order {tableau.order + 1}"):
            replace(tableau, order=tableau.order + 1)


def two_stages(gamma: float) -> Tableau:
    """Return the method of Verwer et al. 1999, of order 2 for any gamma, with b = (1/2, 1/2) and alpha_2 = 1.

    It is L-stable for gamma = 1 +- sqrt 1/2.
    """
    g = gamma
    return Tableau("two stages", 2, g, ((), (1 / g,)), ((), (-2 / g,)), (1.5 / g, 0.5 / g), (0.5 / g, 0.5 / g))


def test_a_method_that_is_not_l_stable_is_refused() -> None:
    assert two_stages(1.0 - np.sqrt(0.5)).order == 2
    with pytest.raises(KernelError, match="not L-stable"):
        two_stages(0.4)


def test_a_method_that_lets_oscillations_grow_is_refused() -> None:
    """Three stages of order 3 with R(infinity) = 0 have gamma = 0.159, 0.436 or 2.41; the first is not A-stable."""
    roots = np.roots([1.0, -3.0, 1.5, -1.0 / 6.0])
    small, middle, _ = sorted(roots.real)
    assert three_stages(middle).order == 3
    with pytest.raises(KernelError, match="not A-stable"):
        three_stages(small)


def three_stages(gamma: float) -> Tableau:
    """Return a method whose order conditions are solved for any gamma: alpha_i = 1, beta_21 = 1, b_2 = b_3."""
    b, estimated = np.array([2.0, 0.5, 0.5]) / 3.0, np.array([0.5 + gamma, 0.5 - gamma, 0.0])
    beta_32 = 1.0 - 6.0 * gamma + 6.0 * gamma**2
    coupling = gamma * np.eye(3) + np.array([[0, 0, 0], [1, 0, 0], [2.0 - 6.0 * gamma - beta_32, beta_32, 0]])
    alphas = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 0]])
    inverse = np.linalg.inv(coupling - alphas)
    a, c, m, e = alphas @ inverse, np.eye(3) / gamma - inverse, b @ inverse, (b - estimated) @ inverse
    a_rows, c_rows = (tuple(tuple(map(float, matrix[i, :i])) for i in range(3)) for matrix in (a, c))
    return Tableau("three stages", 3, gamma, a_rows, c_rows, tuple(map(float, m)), tuple(map(float, e)))


def test_an_estimate_that_is_always_zero_is_refused() -> None:
    with pytest.raises(KernelError, match="estimates nothing"):
        replace(METHODS["rodas4"], e=(0.0,) * 6)


def test_only_stages_with_a_new_argument_evaluate_f() -> None:
    found = {name: tableau.evaluates for name, tableau in METHODS.items()}
    assert found["ros2"] == (True, True)
    assert found["ros3"] == (True, True, False)
    assert found["rodas3"] == (True, False, True, True)
    assert found["rodas4"] == (True,) * 6


@pytest.mark.parametrize("change", [{"a": ((), (1.0,))}, {"m": (1.0,)}, {"c": ((), (1.0, 2.0), (3.0, 4.0))}], ids=str)
def test_coefficients_must_fit_together(change: dict[str, object]) -> None:
    with pytest.raises(KernelError, match="stages"):
        replace(METHODS["ros3"], **change)  # type: ignore[arg-type]


def test_orders_without_known_conditions_are_refused() -> None:
    with pytest.raises(KernelError, match="orders 1 to 4"):
        replace(METHODS["rodas4"], order=5)


def test_a_method_is_found_by_its_name_in_any_case() -> None:
    assert method("Rodas4") is METHODS["rodas4"]
    with pytest.raises(KernelError, match="rodas4"):
        method("rodas5")
