"""Redistribution between any two distributions, by any strategy, compared with direct indexing, and back."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.core.errors import NumericalError
from airshed.parallel.redistribution import (
    Distribution,
    Message,
    RedistributionError,
    make_plan,
    possible_plans,
    simulate,
)  # fmt: skip


@st.composite
def dealt(draw, shape, first):
    """Return a product of index sets: each axis is distributed by index, box or block; some parts are empty."""
    counts = draw(st.lists(st.integers(1, 3), min_size=len(shape), max_size=len(shape)))
    owners = []
    for length, parts in zip(shape, counts, strict=True):
        owner = st.lists(st.integers(0, parts - 1), min_size=length, max_size=length)
        owners.append(np.array(draw(owner | owner.map(sorted))))
    ranks = draw(st.permutations(range(first, first + int(np.prod(counts)))))
    parts = {
        rank: [np.flatnonzero(owner == index).tolist() for owner, index in zip(owners, place, strict=True)]
        for rank, place in zip(ranks, np.ndindex(*counts), strict=True)
    }
    return Distribution(shape, parts, order=draw(st.permutations(range(len(shape)))))


@st.composite
def moves(draw):
    """Return a source and a target on groups of ranks that are identical, disjoint or overlapping."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=4)))
    return draw(dealt(shape, 0)), draw(dealt(shape, draw(st.integers(0, 4))))


def numbers(shape, dtype=np.float64):
    return np.arange(1, np.prod(shape) + 1).reshape(shape).astype(dtype)


def scattered(distribution, whole):
    return {rank: distribution.take(whole, rank) for rank in distribution.ranks}


def assert_same(parts, expected):
    assert set(parts) == set(expected)
    for rank, part in expected.items():
        assert parts[rank].dtype == part.dtype
        np.testing.assert_array_equal(parts[rank], part)


@given(moves(), st.data())
def test_every_strategy_gives_what_direct_indexing_gives_and_its_inverse_the_identity(move, data):
    source, target = move
    whole = numbers(source.shape)
    plan = data.draw(st.sampled_from(list(possible_plans(source, target))))
    there = simulate(plan, scattered(source, whole))
    assert_same(there, scattered(target, whole))
    back = simulate(make_plan(target, source, plan.strategy, plan.lanes), there)
    assert_same(back, scattered(source, whole))
    assert_same(simulate(plan.inverse(), there), back)


@settings(max_examples=40)
@given(moves(), st.data())
def test_executors_do_what_the_simulator_does(threads, move, data):
    source, target = move
    plan = data.draw(st.sampled_from(list(possible_plans(source, target))))
    parts = scattered(source, numbers(source.shape))
    assert_same(threads(plan, parts, repeats=2), simulate(plan, parts))


@given(moves())
def test_direct_moves_each_element_once_and_a_funnel_by_one_message(move):
    source, target = move
    direct = make_plan(source, target)
    assert sum(message.elements for message in direct.hops[0].messages) == np.prod(source.shape)
    funnel = make_plan(source, target, "funnel")
    if len(funnel.hops) == 3:
        assert [message.elements for message in funnel.hops[1].messages] == [np.prod(source.shape)]


PLANES = Distribution.spread((6, 4, 5, 7), range(4), axes=(0, 1))
COLUMNS = Distribution.spread((6, 4, 5, 7), range(4, 7), axes=(2, 3), order=(2, 3, 1, 0))


def corrupted(plan, change):
    """Return a plan whose last hop has other messages."""
    *before, last = plan.hops
    return replace(plan, hops=(*before, replace(last, messages=tuple(change(list(last.messages))))))


def grown(messages):
    first, *others = messages
    (begin, end), *_ = first.part[0]
    return [replace(first, part=(((begin, end + 1),), *first.part[1:])), *others]


def shrunk(messages):
    first, *others = messages
    (begin, end), *_ = first.part[0]
    return [replace(first, part=(((begin, end - 1),), *first.part[1:])), *others]


@pytest.mark.parametrize("strategy", ["direct", "funnel", "parallel funnel"])
@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda messages: messages[1:], "arrives 0 times"),
        (lambda messages: [*messages, messages[0]], "arrives 2 times"),
        (grown, "does not hold"),
        (shrunk, "arrives 0 times"),
        (lambda messages: [replace(messages[0], receiver=messages[-1].receiver), *messages[1:]], "does not hold"),
    ],
)
def test_a_corrupted_plan_is_caught(strategy, change, complaint):
    plan = make_plan(PLANES, COLUMNS, strategy)
    parts = scattered(PLANES, numbers(PLANES.shape))
    simulate(plan, parts)
    with pytest.raises(RedistributionError, match=complaint):
        simulate(corrupted(plan, change), parts)


@pytest.mark.parametrize(("source", "target"), [(">f8", "<f4"), ("<f4", ">f8"), (">f4", "<f4"), ("i4", "f8")])
def test_numbers_are_converted_and_travel_in_the_shorter_format(threads, source, target):
    planes, columns = replace(PLANES, dtype=source), replace(COLUMNS, dtype=target)
    whole = numbers(planes.shape) / 3.0
    parts = scattered(planes, whole)
    for plan in possible_plans(planes, columns):
        assert all(hop.wire.itemsize == 4 for hop in plan.hops)
        expected = scattered(columns, whole.astype(source))
        assert_same(simulate(plan, parts), expected)
        assert_same(threads(plan, parts), expected)


def test_a_number_too_large_for_the_target_is_told(threads):
    source, target = (Distribution((3,), {0: [slice(3)]}, dtype) for dtype in ("f8", "f4"))
    with pytest.raises(NumericalError, match=r"too large for the float32"):
        threads(make_plan(source, target), {0: np.array([1.0, 1e300, np.inf])})
    assert threads(make_plan(source, target), {0: np.array([1.0, np.nan, np.inf])})[0][2] == np.inf


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({0: [slice(0, 2)], 1: [slice(3, 5)]}, r"element \(2,\) .* held by 0 ranks"),
        ({0: [slice(0, 3)], 1: [slice(2, 5)]}, r"element \(2,\) .* held by 2 ranks"),
        ({0: [[0, 2, 1, 3, 4]]}, "must ascend"),
        ({0: [[0, 1, 2, 3, 4, 5]]}, "outside an axis of 5"),
        ({0: [((0, 9),)]}, "within an axis of 5"),
        ({0: [slice(5), slice(1)]}, "2 axes of an array of 1"),
    ],
)
def test_a_distribution_holds_each_element_once(parts, complaint):
    with pytest.raises(RedistributionError, match=complaint):
        Distribution((5,), parts)


def test_what_does_not_fit_is_refused(threads):
    other = Distribution.spread((6, 4, 5, 8), range(4), axes=(0,))
    with pytest.raises(RedistributionError, match="cannot be moved into"):
        make_plan(PLANES, other)
    with pytest.raises(RedistributionError, match="cannot be converted"):
        make_plan(PLANES, replace(COLUMNS, dtype="i4"))
    with pytest.raises(RedistributionError, match="lanes needs as many ranks"):
        make_plan(PLANES, COLUMNS, "parallel funnel", 4)
    with pytest.raises(RedistributionError, match="no strategy"):
        make_plan(PLANES, COLUMNS, "tunnel")
    with pytest.raises(RedistributionError, match="order must name"):
        replace(PLANES, order=(0, 1, 2))
    with pytest.raises(RedistributionError, match=r"rank \d holds an array .* got"):
        threads(make_plan(PLANES, PLANES), {rank: np.zeros(3) for rank in range(4)})


def test_a_message_is_what_two_parts_share():
    source = Distribution((10,), {0: [[0, 1, 4, 5, 8, 9]], 1: [[2, 3, 6, 7]]})
    target = Distribution.spread((10,), [0, 1], axes=(0,))
    hop = make_plan(source, target).hops[0]
    assert hop.messages == (
        Message(0, 0, (((0, 2), (4, 5)),)), Message(0, 1, (((5, 6), (8, 10)),)),
        Message(1, 0, (((2, 4),),)), Message(1, 1, (((6, 8),),)),
    )  # fmt: skip
    assert [each.receiver for each in hop.sends(0)] == [1]
    assert [each.sender for each in hop.receives(0)] == [1]
    assert hop.copies(1) == [hop.messages[3]]


def test_ranks_share_axes_as_evenly_as_they_can():
    assert [PLANES.local_shape(rank) for rank in PLANES.ranks] == [(3, 2, 5, 7)] * 4
    prime = Distribution.spread((2, 3, 50), range(5), axes=(0, 2))
    assert sorted(prime.local_shape(rank) for rank in prime.ranks) == [(2, 3, 10)] * 5
    assert [Distribution.spread((2,), range(3), axes=(0,)).local_shape(rank) for rank in range(3)] == [(1,), (1,), (0,)]
