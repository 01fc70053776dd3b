"""The plan of a halo exchange, carried out in memory, brings every tile what its faces look at, and nothing else."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airshed.core.errors import CaseError
from airshed.kernels.step.data import REACH, SIDES
from airshed.parallel.decomposition import Decomposition
from airshed.parallel.halo import halo_plan

GRIDS = st.tuples(st.integers(2, 30), st.integers(1, 40), st.sampled_from([2, 4, 8]), st.integers(1, 12))


def received(plan, rank):
    """The columns of the grid that a rank gets, and from whom."""
    cells = {}
    for message in plan:
        if message.receiver == rank:
            for row in message.rows:
                for column in message.columns:
                    assert cells.setdefault((row, column), message.sender) == message.sender
    return cells


def needed(decomposition, rank):
    """The columns within reach of a tile along its rows and along its columns, inside the grid."""
    window = decomposition.tile(rank).window
    reach = range(1, REACH + 1)
    beside = [(row, column) for row in range(window.south, window.north) for step in reach
              for column in (window.west - step, window.east - 1 + step)]  # fmt: skip
    above = [(row, column) for column in range(window.west, window.east) for step in reach
             for row in (window.south - step, window.north - 1 + step)]  # fmt: skip
    inside = {(row, column) for row, column in beside + above
              if 0 <= row < decomposition.rows and 0 <= column < decomposition.columns}  # fmt: skip
    return inside


def check(decomposition, plan):
    for tile in decomposition.tiles():
        cells = received(plan, tile.rank)
        assert set(cells) == needed(decomposition, tile.rank)
        assert all(decomposition.owner(*cell) == sender for cell, sender in cells.items())


@given(GRIDS)
def test_every_tile_gets_what_it_looks_at_from_who_holds_it(grid):
    rows, columns, width, ranks = grid
    try:
        decomposition = Decomposition.of(rows, columns, width, ranks)
    except CaseError:
        assume(False)
    check(decomposition, halo_plan(decomposition))


@pytest.mark.parametrize("lost", range(4))
def test_a_plan_that_lacks_a_message_is_found_out(lost):
    decomposition = Decomposition.of(12, 16, 8, 4, tiles=(2, 2))
    plan = halo_plan(decomposition)
    assert len(plan) == 8 == 2 * len(SIDES)
    check(decomposition, plan)
    with pytest.raises(AssertionError):
        check(decomposition, [message for number, message in enumerate(plan) if number != lost])
