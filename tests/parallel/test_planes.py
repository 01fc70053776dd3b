"""How species and levels are cut for the ranks that move them: every plane once, as even as can be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.parallel.planes import cut_planes, most_ranks

SIZES = st.integers(1, 30)


def held(cut, species, levels):
    counts = np.zeros((species, levels), int)
    for stretch in cut:
        for each in stretch:
            counts[each.species, each.levels] += 1
            assert each.number == (each.species.stop - each.species.start) * (each.levels.stop - each.levels.start)
    return counts


@given(SIZES, SIZES, st.data())
def test_every_plane_is_on_one_rank_for_any_number_of_them(species, levels, data):
    ranks = data.draw(st.integers(1, species * levels))
    cut = cut_planes(species, levels, ranks, apart=True)
    everything = [each for stretch in cut for each in stretch]
    assert len(everything) == ranks
    assert min(each.number for each in everything) > 0
    assert (held(cut, species, levels) == 1).all()
    for stretch in cut:  # all of one stretch have its species, and its levels are all there are
        assert len({(each.species.start, each.species.stop) for each in stretch}) == 1


@given(SIZES, SIZES, st.data())
def test_no_grid_of_ranks_is_more_even(species, levels, data):
    ranks = data.draw(st.integers(1, species * levels))
    most = max(each.number for stretch in cut_planes(species, levels, ranks, apart=True) for each in stretch)
    grids = [(s, ranks // s) for s in range(1, ranks + 1) if ranks % s == 0 and s <= species and ranks // s <= levels]
    assert all(most <= -(-species // s) * -(-levels // z) for s, z in grids)
    assert most >= -(-species * levels // ranks)


def test_known_cuts():
    """Two tracers in twelve levels on four ranks: six levels of one each. EMEP on five, where 252 are 14 species."""
    cut = [[(e.species, e.levels) for e in stretch] for stretch in cut_planes(2, 12, 4, apart=True)]
    assert cut == [[(slice(n, n + 1), slice(0, 6)), (slice(n, n + 1), slice(6, 12))] for n in range(2)]
    numbers = [each.number for stretch in cut_planes(66, 18, 5, apart=True) for each in stretch]
    assert numbers == [234, 234, 234, 243, 243]
    together = cut_planes(66, 18, 5, apart=False)
    assert [stretch[0].species for stretch in together] == [
        slice(0, 14), slice(14, 27), slice(27, 40), slice(40, 53), slice(53, 66)
    ]  # fmt: skip
    assert {(each.levels.start, each.levels.stop) for stretch in together for each in stretch} == {(0, 18)}


@pytest.mark.parametrize("apart", [False, True])
def test_more_ranks_than_parts_are_refused(apart):
    most = most_ranks(3, 4, apart)
    assert most == (12 if apart else 3)
    cut_planes(3, 4, most, apart=apart)
    with pytest.raises(ValueError, match=f"{most + 1} ranks cannot share 3 species x 4 levels"):
        cut_planes(3, 4, most + 1, apart=apart)
