"""A recorded run is repeated with the same bits; tangent, adjoint and differences of it agree, and errors are seen."""

import dataclasses

import numpy as np
import pytest

import airshed
from airshed.adjoint import (
    CostOfFunction,
    Direction,
    dot_product_test,
    finite_difference_check,
    gradient,
    tangent,
    taylor_test,
)
from airshed.adjoint.chance import random_cost, random_direction
from airshed.adjoint.differences import differences
from airshed.adjoint.direction import products
from airshed.adjoint.dot_products import dot_products
from airshed.adjoint.kinks import AHEAD, BEHIND, EXTREMUM, SMOOTH, Crossings, along, branch, upward
from airshed.adjoint.recording import recorded
from airshed.adjoint.replay import Replay
from airshed.adjoint.taylor import remainders
from airshed.core.errors import CaseError
from airshed.kernels.cpu.reverse.reverser import Reverser
from airshed.kernels.reference.transport import ALPHA, BETA, face_value
from airshed.kernels.step.data import TERMS

from .cases import KINDS, small_case


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    return small_case(tmp_path_factory.mktemp("case"))


@pytest.fixture(scope="module")
def run(case):
    return recorded(case, steps=8, allow_code=True)[0]


@pytest.fixture
def replay(run):
    made = Replay(run, random_cost(run, 1))
    yield made
    made.close()


def test_a_run_is_repeated_with_the_same_bits(run, replay):
    found = []
    replay.value(look=lambda part, before, q, sums: found.append(np.array_equal(q, run.levels[len(found) + 1].q)))
    assert found == [True] * len(run.steps)


def test_dot_products_of_a_users_process(case):
    found = dot_product_test(case, steps=8, allow_code=True)
    assert set(found.errors) >= KINDS
    assert found.ok
    assert found.worst < 1e-13
    there = {kind for kind, each in found.by_adjoint.items() if abs(each) > 1e-12}
    assert there >= KINDS - {"top"}  # in turning air nothing comes from above
    assert "relative error" in str(found)


def test_steps_over_a_change_of_the_emission_and_of_the_weather(case):
    """From 9:30 an hour begins after six steps; its sources are another period, and its fields another instant."""
    found = dot_product_test(case, steps=10, seed=3, allow_code=True)
    assert found.steps == 10
    assert found.ok


@pytest.mark.parametrize("name", ["outside", "top", "reactions"])
def test_a_sum_of_the_adjoint_that_is_off_is_seen(run, monkeypatch, name):
    """The negative control, in the compiled adjoint's own sums."""
    finish = Reverser.finish

    def off(self, first):
        finish(self, first)
        getattr(self, name)[...] *= 1.0 + 1e-9

    monkeypatch.setattr(Reverser, "finish", off)
    wrong = {kind for kind, error in dot_products(run).errors.items() if error > 1e-12}
    assert wrong == {{"outside": "boundary", "top": "top", "reactions": "rates"}[name]}


def test_a_share_of_a_period_that_is_off_is_seen(run, monkeypatch):
    reverse = Reverser.reverse

    def off(self, step, levels, before, sources=()):
        reverse(self, step, levels, before, [dataclasses.replace(each, share=1.001 * each.share) for each in sources])

    monkeypatch.setattr(Reverser, "reverse", off)
    assert {kind for kind, error in dot_products(run).errors.items() if error > 1e-12} == {"emission"}


@pytest.mark.parametrize("kind", ["emission", "rates", "number sea_surface_strength"])
def test_remainders_are_of_second_order(case, kind):
    found = taylor_test(case, kind=kind, steps=4, allow_code=True)
    assert found.ok
    assert found.order > 1.8


def test_a_tangent_that_is_off_leaves_a_remainder_of_first_order(replay, monkeypatch):
    right = replay.tangent
    monkeypatch.setattr(replay, "tangent", lambda direction: 1.01 * right(direction))
    kind = "number sea_surface_strength"
    found = remainders(replay, kind, random_direction(replay.recording).only(kind))
    assert found.order == pytest.approx(1.0, abs=0.1)


def test_gradients_are_beside_central_differences(case):
    kinds = "emission", "rates", "number sea_surface_strength"
    found = finite_difference_check(case, kinds=kinds, steps=4, allow_code=True)
    assert max(found.errors.values()) < 1e-6
    assert "best size" in str(found)


def test_a_gradient_that_is_off_is_seen_by_differences(replay):
    direction = random_direction(replay.recording).only("emission")
    adjoint = replay.backward().map(lambda each: 1.001 * each)
    found = differences(replay, adjoint, direction)
    assert found.error(found.best) == pytest.approx(1e-3, rel=0.01)


def mean(seconds):
    return CostOfFunction(
        seconds, ["O3"], lambda q: (float(q["O3"].mean()), {"O3": np.ones_like(q["O3"]) / q["O3"].size})
    )


def test_the_tangent_beside_a_run_is_worth_what_the_gradient_says(case):
    cost, random = mean(3000.0), np.random.default_rng(0)

    def direction(model):
        return Direction(rates=random.uniform(size=len(model.network.reactions)))

    found = tangent(case, direction, cost, allow_code=True)
    random = np.random.default_rng(0)
    adjoint = gradient(case, mean(3000.0), allow_code=True)
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


def test_values_that_one_run_alone_clips_are_counted(run):
    """In the first block of the second row the step clipped something of species 1; zeros elsewhere are no clips."""
    terms, species = len(run.derivatives.kernel.terms), len(run.derivatives.kernel.network.species)
    q = np.ones_like(run.levels[0].q)
    q[1, 0, 1, 2, 0] = q[0, 0, 1, 2, 0] = q[1, 0, 2, 0, 0] = 0.0
    sums = np.zeros((run.area.layout.rows, run.area.layout.blocks, terms, species))
    crossings = Crossings(run, run.constants)
    crossings.note(run.steps[0], q, q, sums.reshape(-1, terms * species))
    sums[1, 0, TERMS.index("clipped"), 1] = 1e-9
    crossings.start()
    crossings.compare(run.steps[0], q, q, sums.reshape(-1, terms * species))
    assert (crossings.kinks, crossings.clips) == (0, 1)


def test_no_branch_where_no_air_flows_or_nothing_changes():
    q = np.random.default_rng(1).uniform(size=(2, 4, 3, 3))
    weights = np.full((4, 4), 0.25)
    assert not upward(q, np.zeros((4, 3, 3)), weights).any()
    assert upward(q, np.ones((4, 3, 3)), weights).any()
    assert not upward(np.ones_like(q), np.ones((4, 3, 3)), weights).any()


def test_code_that_is_not_allowed_and_inputs_that_are_not_there_are_refused(case, run):
    with pytest.raises(airshed.core.errors.AirshedError, match="allow"):
        dot_product_test(case)
    with pytest.raises(CaseError, match="there is no input 'weather'"):
        random_direction(run).only("weather")
    with pytest.raises(CaseError, match="no operator reads"):
        Replay(run, random_cost(run, 1)).tangent(Direction(numbers={"rain": np.ones(1)}))


def test_products_are_by_the_kinds_of_the_direction(run):
    direction = random_direction(run)
    assert set(products(direction, direction.only("top"))) == {"top"}
    assert set(direction.parts()) >= KINDS
