"""The pieces of a step cover each block once, and those that do not wait for neighbours look at none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.kernels.backends.cpu.work_sharing import Open, cut
from airshed.kernels.step.data import REACH

SIDES = st.builds(Open, *[st.booleans()] * 4)


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
    if open_to.south:
        assert (waiting[:REACH] == 1).all()
    if open_to.north:
        assert (waiting[-REACH:] == 1).all()
    if open_to.west:
        assert (waiting[:, 0] == 1).all()
    if open_to.east:
        assert (waiting[:, -1] == 1).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_without_neighbours_nothing_waits(threads):
    inner, outer = cut(40, 5, threads, Open())
    assert len(outer) == 0
    assert len(inner) > 0
