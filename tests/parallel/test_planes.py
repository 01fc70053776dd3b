"""Division of species and levels among the ranks that move them: every plane once, as evenly as possible."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.parallel.groups import cut_planes, most_ranks

SIZES = st.integers(1, 30)


def held(cut, species, levels):
    counts = np.zeros((species, levels), int)
    for span in cut:
        for each in span:
            counts[each.species, each.levels] += 1
    return counts


@given(SIZES, SIZES, st.data())
def test_every_plane_is_on_one_rank_for_any_number_of_them(species, levels, data):
    ranks = data.draw(st.integers(1, species * levels))
    cut = cut_planes(species, levels, ranks, split_levels=True)
    everything = [each for span in cut for each in span]
    assert len(everything) == ranks
    assert (held(cut, species, levels) == 1).all()
    for span in cut:  # all ranks of a span have its species, and together all levels
        assert len({(each.species.start, each.species.stop) for each in span}) == 1


@given(SIZES, SIZES, st.data())
def test_no_grid_of_ranks_is_more_even(species, levels, data):
    ranks = data.draw(st.integers(1, species * levels))
    most = max(each.work for span in cut_planes(species, levels, ranks, split_levels=True) for each in span)
    grids = [(s, ranks // s) for s in range(1, ranks + 1) if ranks % s == 0 and s <= species and ranks // s <= levels]
    assert all(most <= (-(-species // s) + 1) * -(-levels // z) for s, z in grids)
    assert most > species * levels / ranks


def test_known_cuts():
    """Two tracers in twelve levels on four ranks share levels, as air costs a species.

    EMEP in eighteen levels on four: 33 species in nine levels, rather than 17 in all. On five: more species for three.
    """
    cut = [[(each.species, each.levels) for each in span] for span in cut_planes(2, 12, 4, split_levels=True)]
    assert cut == [[(slice(0, 2), slice(first, first + 3)) for first in (0, 3, 6, 9)]]
    four, five = (cut_planes(66, 18, ranks, split_levels=True) for ranks in (4, 5))
    assert {each.work for span in four for each in span} == {34 * 9}
    assert [[each.work for each in span] for span in five] == [[40 * 6] * 3, [28 * 9] * 2]
    together = cut_planes(66, 18, 5, split_levels=False)
    assert [span[0].species for span in together] == [
        slice(0, 14), slice(14, 27), slice(27, 40), slice(40, 53), slice(53, 66)
    ]  # fmt: skip
    assert {(each.levels.start, each.levels.stop) for span in together for each in span} == {(0, 18)}


@pytest.mark.parametrize("split_levels", [False, True])
def test_more_ranks_than_parts_are_refused(split_levels):
    most = most_ranks(3, 4, split_levels)
    assert most == (12 if split_levels else 3)
    cut_planes(3, 4, most, split_levels=split_levels)
    with pytest.raises(ValueError, match=f"{most + 1} ranks cannot share 3 species x 4 levels"):
        cut_planes(3, 4, most + 1, split_levels=split_levels)
