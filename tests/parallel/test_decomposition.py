"""Every column belongs to one rank, in whole packs, and every tile is at least as wide as the stencil."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airshed.core.errors import CaseError
from airshed.kernels.step.arguments import REACH, SIDES
from airshed.parallel.decomposition import OPPOSITE, Decomposition


def cut(rows, columns, width, ranks):
    try:
        return Decomposition.of(rows, columns, width, ranks)
    except CaseError:
        return None


GRIDS = st.tuples(st.integers(1, 60), st.integers(1, 70), st.sampled_from([1, 4, 8, 16]), st.integers(1, 24))


@given(GRIDS)
def test_each_column_is_held_once(grid):
    decomposition = cut(*grid)
    assume(decomposition is not None)
    rows, columns, width, ranks = grid
    assert decomposition.ranks == ranks
    held = {}
    for tile in decomposition.tiles():
        window = tile.window
        assert window.west % width == 0
        assert ranks == 1 or window.shape[0] >= REACH
        assert ranks == 1 or window.shape[1] >= min(REACH, width)
        for row in range(window.south, window.north):
            for column in range(window.west, window.east):
                assert held.setdefault((row, column), tile.rank) == tile.rank
                assert decomposition.owner(row, column) == tile.rank
    assert len(held) == rows * columns == sum(t.window.shape[0] * t.window.shape[1] for t in decomposition.tiles())


@given(GRIDS)
def test_neighbours_hold_all_within_reach_beyond_a_side(grid):
    decomposition = cut(*grid)
    assume(decomposition is not None)
    steps = {"west": (0, -1), "east": (0, 1), "south": (-1, 0), "north": (1, 0)}
    for tile in decomposition.tiles():
        window = tile.window
        for side in SIDES:
            other, (up, right) = decomposition.neighbour(tile.rank, side), steps[side]
            row = window.south if side == "south" else window.north - 1
            column = window.west if side == "west" else window.east - 1
            beyond = [(row + up * step, column + right * step) for step in range(1, REACH + 1)]
            inside = [(j, i) for j, i in beyond if 0 <= j < decomposition.rows and 0 <= i < decomposition.columns]
            assert (other is None) == (not inside)
            assert all(decomposition.owner(*cell) == other for cell in inside)
            if other is not None:
                assert decomposition.neighbour(other, OPPOSITE[side]) == tile.rank


def test_two_ranks_share_rows_which_lie_together_in_memory():
    assert Decomposition.of(40, 40, 8, 2).row_cuts == (0, 20, 40)
    assert Decomposition.of(40, 40, 8, 2).block_cuts == (0, 5)


def test_too_many_ranks_are_told_how_many_would_fit():
    with pytest.raises(CaseError, match=r"7 ranks cannot share 4 rows of 2 packs .* take 4 ranks"):
        Decomposition.of(4, 16, 8, 7)
    with pytest.raises(CaseError, match=r"^2 ranks cannot share 2 rows of 1 pack of 8 columns; take 1 rank$"):
        Decomposition.of(2, 8, 8, 2)
    with pytest.raises(CaseError, match=r"1 x 7 ranks \(parallel.tiles\) cannot share .* take at most 20 x 5$"):
        Decomposition.of(40, 40, 8, 7, tiles=(1, 7))
    assert Decomposition.of(40, 40, 8, 100, tiles=(20, 5)).ranks == 100


@pytest.mark.parametrize(
    ("tiles", "part"),
    [((1, 2), r"\[1, 2\] is for 2 ranks, but there is 1; start 2 ranks, or"), ((0, 2), r"\[0, 2\]: give 1 or more of")],
)
def test_tiles_that_are_not_as_many_as_ranks_are_refused(tiles, part):
    with pytest.raises(CaseError, match=part):
        Decomposition.of(8, 16, 8, 1, tiles)
