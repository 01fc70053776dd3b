"""Replay of a recorded run: its tangent, the branches of limiters, and invalid input."""

import numpy as np
import pytest
from tests.laws.cases import small_case
from tests.laws.derivatives import kinds_of, record, replay_of

import airshed
from airshed.core.errors import CaseError
from airshed.inverse import (
    CostOfFunction,
    Direction,
    dot_product_test,
    finite_difference_check,
    gradient,
    tangent,
)
from airshed.inverse.reverse.direction import products
from airshed.inverse.verify.derivative_tests import AHEAD, BEHIND, EXTREMUM, SMOOTH, Crossings, along, branch, upward
from airshed.inverse.verify.recording import random_direction
from airshed.kernels.transport.reference import ALPHA, BETA, face_value


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return small_case(tmp_path_factory.mktemp("case"))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return record(tmp_path_factory.mktemp("run"))


def test_results_are_tables(case):
    assert "relative error" in str(dot_product_test(case, steps=2))
    assert "best size" in str(finite_difference_check(case, kinds=["emission"], steps=2))


def mean(seconds):
    return CostOfFunction(
        seconds, ["O3"], lambda q: (float(q["O3"].mean()), {"O3": np.ones_like(q["O3"]) / q["O3"].size})
    )


def test_the_tangent_of_a_run_agrees_with_the_gradient(case):
    cost, random = mean(3000.0), np.random.default_rng(0)

    def direction(model):
        return Direction(rates=random.uniform(size=len(model.network.reactions)))

    found = tangent(case, direction, cost)
    random = np.random.default_rng(0)
    adjoint = gradient(case, mean(3000.0))
    rates = random.uniform(size=adjoint.adjoints.reactions.shape)
    assert found.cost == adjoint.value
    assert found.derivative == pytest.approx(np.sum(rates * adjoint.adjoints.reactions), rel=1e-11, abs=0.0)
    assert found.seconds == 3000.0
    assert found.change.shape == found.state.shape


def test_branches_are_those_of_the_face_value():
    random = np.random.default_rng(0)
    a, b, c = random.normal(size=(3, 400)).round(1)
    found = branch(a, b, c, ALPHA, BETA)
    choices = [b, b + ALPHA * (c - b) + BETA * (b - a), c, b + (b - a)]
    assert set(found) == {EXTREMUM, SMOOTH, AHEAD, BEHIND}
    np.testing.assert_allclose(np.choose(found, choices), face_value(a, b, c, ALPHA, BETA), atol=1e-14)


def test_a_peak_that_moves_switches_its_faces():
    cells, moved = np.array([0.0, 0.0, 1.0, 2.0, 1.5, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, 2.0, 2.5, 0.0, 0.0])
    air = np.array([1.0, 1.0, 1.0, 0.0])
    assert list(np.flatnonzero(along(cells, air) != along(moved, air))) == [2]


def test_values_clipped_in_one_run_only_are_counted(run):
    """The step clipped species 1 in the first block of the second row; other zeros are not clipped."""
    q = np.ones_like(run.levels[0].q)
    q[1, 0, 1, 2, 0] = q[0, 0, 1, 2, 0] = q[1, 0, 2, 0, 0] = 0.0
    clipped, step = np.zeros(q.shape[:3]), next(run.formula_steps)
    crossings = Crossings(run, run.constants)
    crossings.note(step, q, q, clipped)
    clipped[1, 0, 1] = 1e-9
    crossings.start()
    crossings.compare(step, q, q, clipped)
    assert (crossings.switches, crossings.clips) == (0, 1)


def test_no_branch_without_flux_or_gradient():
    q = np.random.default_rng(1).uniform(size=(2, 4, 3, 3))
    weights = np.full((4, 4), 0.25)
    assert not upward(q, np.zeros((4, 3, 3)), weights).any()
    assert upward(q, np.ones((4, 3, 3)), weights).any()
    assert not upward(np.ones_like(q), np.ones((4, 3, 3)), weights).any()


def test_disallowed_code_and_missing_inputs_are_refused(case, run):
    with pytest.raises(airshed.core.errors.AirshedError, match="allow"):
        dot_product_test(airshed.Case.from_dict(case.to_dict(), base=case.base))
    with pytest.raises(CaseError, match="there is no input 'weather'"):
        random_direction(run).only("weather")
    with pytest.raises(CaseError, match="no operator reads"):
        replay_of(run).tangent(Direction(numbers={"rain": np.ones(1)}))


def test_products_are_by_the_kinds_of_the_direction(run):
    direction = random_direction(run)
    assert set(products(direction, direction.only("top"))) == {"top"}
    assert set(direction.parts()) == kinds_of(run)
