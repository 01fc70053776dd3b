"""L-BFGS and its line search: known minima, Wolfe conditions, and termination."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from airshed.inverse.fourdvar.lbfgs import CURVATURE, DECREASE, MEMORY, Trial, begin, direction, iterate, line_search

RANDOM = np.random.default_rng(4)


@dataclass
class Point:
    cost: float
    gradient: np.ndarray


def rosenbrock(v: np.ndarray) -> Point:
    return Point(float(rosen(v)), rosen_der(v))


def test_the_valley_of_rosenbrock_is_followed_to_its_end() -> None:
    start = np.full(10, -1.2)
    memory = begin(start, rosenbrock(start))
    costs = [memory.cost]
    while np.linalg.norm(memory.gradient) > 1e-9:
        step = iterate(memory, rosenbrock)
        assert step is not None
        memory = step[0]
        costs.append(memory.cost)
        assert len(memory.steps) <= MEMORY
    assert memory.iteration < 150
    np.testing.assert_allclose(memory.v, 1.0, atol=1e-8)
    assert (np.diff(costs) <= 1e-15).all()


def test_the_two_loops_are_the_formula_of_bfgs() -> None:
    matrix = np.diag(1.0 + np.arange(6.0))
    start = RANDOM.standard_normal(6)
    memory = begin(start, Point(0.5 * start @ matrix @ start, matrix @ start))
    for _ in range(4):
        found = iterate(memory, lambda v: Point(0.5 * v @ matrix @ v, matrix @ v))
        assert found is not None
        memory = found[0]
    s, y = memory.steps[-1], memory.changes[-1]
    inverse = np.eye(6) * (s @ y) / (y @ y)
    for s, y in zip(memory.steps, memory.changes, strict=True):
        left = np.eye(6) - np.outer(s, y) / (s @ y)
        inverse = left @ inverse @ left.T + np.outer(s, s) / (s @ y)
    np.testing.assert_allclose(direction(memory), -inverse @ memory.gradient, atol=1e-12)


@pytest.mark.parametrize("first", [1e-6, 0.1, 1.0, 50.0])
@pytest.mark.parametrize("shape", ["quartic", "wave", "edge"])
def test_steps_satisfy_the_conditions_of_wolfe(first: float, shape: str) -> None:
    def at(t: float) -> Trial[None]:
        if shape == "edge" and t > 3.0:
            return Trial(t, np.inf, np.nan, None)
        if shape == "wave":
            return Trial(t, 0.1 * (t - 4) ** 2 + 0.2 * np.sin(3 * t), 0.2 * (t - 4) + 0.6 * np.cos(3 * t), None)
        return Trial(t, (t - 2) ** 4, 4 * (t - 2) ** 3, None)

    start = at(0.0)
    found = line_search(at, start, first)
    assert found is not None
    assert found.cost <= start.cost + DECREASE * found.step * start.slope
    assert abs(found.slope) <= -CURVATURE * start.slope


def test_a_gradient_that_points_up_gives_no_step() -> None:
    start = np.ones(3)

    def wrong(v: np.ndarray) -> Point:
        return Point(float(v @ v), -2 * v)

    assert iterate(begin(start, wrong(start)), wrong) is None


def test_at_the_minimum_there_is_no_step() -> None:
    zero = np.zeros(3)
    assert iterate(begin(zero, Point(0.0, zero)), lambda v: Point(float(v @ v), 2 * v)) is None
