"""Fitted alpha and beta, the strategy that they select, and reused memory."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

from airshed.parallel.redistribution import Distribution, Redistribution, choose, make_plan
from airshed.parallel.redistribution.costs import FREE, Costs, LinearCost, fitted, predict, predictions, timer_overhead
from airshed.parallel.redistribution.redistribution import SingleRankMessages

SHAPE = (32, 4, 16, 16)
PLANES = Distribution.spread(SHAPE, range(8), axes=(0, 1))
COLUMNS = Distribution.spread(SHAPE, range(8, 16), axes=(2, 3), order=(2, 3, 0, 1))


def costs(alpha, beta, copy=FREE, between=None, cores=16, first=16, synchronisation=0.0):
    return Costs(LinearCost(alpha, beta), between or LinearCost(alpha, beta), copy, synchronisation, cores, first)


def test_a_line_is_found_again():
    lengths = (8, 1024, 65536, 2**20)
    line = fitted(lengths, [3e-6 + 2e-10 * length for length in lengths])
    assert line.alpha == pytest.approx(3e-6)
    assert line.beta == pytest.approx(2e-10)
    assert fitted((1, 2), [2e-6, 1e-6]).beta == 0.0


def test_one_message_costs_alpha_and_beta_and_many_ranks_share_cores():
    source = Distribution((1000,), {0: [slice(1000)]})
    target = Distribution((1000,), {1: [slice(1000)]})
    assert predict(make_plan(source, target), costs(1e-5, 1e-9)).seconds == pytest.approx(1e-5 + 8e-6)
    direct = make_plan(PLANES, COLUMNS)
    many, few = (predict(direct, costs(1e-5, 1e-9, cores=cores)).seconds for cores in (16, 2))
    assert many == pytest.approx(8 * 1e-5 + PLANES.nbytes / 8 * 1e-9)
    assert few == pytest.approx(8 * many)


def test_a_copy_is_paid_for_what_does_not_lie_in_one_piece():
    turned = Distribution(PLANES.shape, {0: [slice(None)] * 4}, order=(3, 2, 1, 0))
    whole = Distribution(PLANES.shape, {1: [slice(None)] * 4})
    free, paid = (
        predict(make_plan(whole, turned), costs(1e-5, 1e-9, copy)).seconds for copy in (FREE, LinearCost(0, 1e-9))
    )
    assert paid - free == pytest.approx(PLANES.nbytes * 1e-9)
    straight = Distribution(PLANES.shape, {2: [slice(None)] * 4})
    assert predict(make_plan(whole, straight), costs(0.0, 0.0, LinearCost(0, 1e-9))).seconds == 0.0


def test_dear_messages_make_a_funnel_and_dear_bytes_make_it_direct():
    dear_between = costs(1e-6, 1e-10, between=LinearCost(1e-2, 1e-9), first=8)
    assert predictions(PLANES, COLUMNS, dear_between)[0].plan.strategy == "funnel"
    assert predictions(PLANES, COLUMNS, costs(1e-7, 1e-9))[0].plan.strategy == "direct"
    steps = [each.seconds for each in predictions(PLANES, COLUMNS, dear_between)]
    assert all(before <= after for before, after in pairwise(steps))


def test_two_jobs_have_one_line_between_them():
    one_line = costs(0.0, 0.0, between=LinearCost(0.0, 1e-9), first=8)
    assert predict(make_plan(PLANES, COLUMNS), one_line).seconds == pytest.approx(PLANES.nbytes * 1e-9)


def test_the_choice_is_the_least_of_what_was_measured():
    source, target = (Distribution(SHAPE, {0: [slice(None)] * 4}, order=order) for order in [(), (3, 2, 1, 0)])
    found = choose(SingleRankMessages(), source, target)
    assert found.plan == found.predictions[0].plan
    assert found.costs.copy.beta > 0.0
    assert found.costs.within == FREE


def test_the_timer_is_taken_off():
    assert 0.0 <= timer_overhead() < 1e-4


def test_a_repeated_move_allocates_nothing():
    one = Distribution((64, 64, 64), {0: [slice(None)] * 3})
    other = Distribution((64, 64, 64), {0: [slice(None)] * 3}, ">f4", order=(2, 0, 1))
    mover = Redistribution(SingleRankMessages(), make_plan(one, other))
    given = np.random.default_rng(2).random((64, 64, 64))
    first = mover(given)
    tracemalloc.start()
    second = mover(given)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert second is first
    assert peak < given.nbytes / 10
    assert mover.seconds > 0.0
    out = np.empty_like(first)
    assert mover(given, out=out) is out
    np.testing.assert_array_equal(out, first)
