"""The pieces of a step cover each block once, and inner pieces read no halo."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.kernels.backends.cpu.work_sharing import cut
from airshed.kernels.step.arguments import REACH
from airshed.kernels.step.arguments import SIDES as ALL

SIDES = st.sets(st.sampled_from(ALL))


def covered(pieces, rows, blocks):
    times = np.zeros((rows, blocks), int)
    for first_row, last_row, first_block, last_block in pieces:
        times[first_row:last_row, first_block:last_block] += 1
    return times


@given(st.integers(1, 50), st.integers(1, 9), st.integers(1, 5), SIDES)
def test_each_block_is_computed_once_and_inner_ones_reach_no_neighbour(rows, blocks, threads, open_to):
    inner, outer = cut(rows, blocks, threads, open_to)
    assert (covered(inner, rows, blocks) + covered(outer, rows, blocks) == 1).all()
    waiting = covered(outer, rows, blocks)
    if "south" in open_to:
        assert (waiting[:REACH] == 1).all()
    if "north" in open_to:
        assert (waiting[-REACH:] == 1).all()
    if "west" in open_to:
        assert (waiting[:, 0] == 1).all()
    if "east" in open_to:
        assert (waiting[:, -1] == 1).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_without_neighbours_nothing_waits(threads):
    inner, outer = cut(40, 5, threads, ())
    assert len(outer) == 0
    assert len(inner) > 0
