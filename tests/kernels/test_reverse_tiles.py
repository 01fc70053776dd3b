"""A soak of random decompositions: steps reversed on tiles have the bits of those of the whole grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.kernels.backends.cpu.kernel import WIDTH
from airshed.kernels.host import AnyArray
from airshed.kernels.step.arguments import SIDES, Side
from airshed.kernels.step.trial import random_trial, with_boundary
from airshed.parallel.decomposition import Decomposition
from airshed.program.weights import two_step_weights

from .conftest import toy_of_all_kinds
from .reverse_tiles import Whole, differences
from .tiles import EULER, cuts

STEPS = EULER, two_step_weights(100.0, 100.0), two_step_weights(80.0, 100.0)


def compare(precision: str, cut: Decomposition, threads: int, seed: int) -> None:
    kernel = toy_of_all_kinds(precision)
    trial = random_trial(kernel, (cut.rows, cut.columns), EULER, seed=seed, sweeps=1 + seed % 2)
    trial = with_boundary(trial, seed, seed % 3) if seed % 3 else trial
    assert differences(Whole.of(kernel, trial, STEPS), cut, threads) == []


@settings(max_examples=4)
@given(cut=cuts(), threads=st.integers(1, 2), seed=st.integers(0, 99))
def test_any_tiles_give_the_bits_of_the_whole(cut: Decomposition, threads: int, seed: int) -> None:
    compare("double", cut, threads, seed)


@pytest.mark.thorough
@pytest.mark.parametrize("precision", ["double", "single"])
@settings(max_examples=15)
@given(cut=cuts(), threads=st.integers(1, 2), seed=st.integers(0, 99))
def test_many_tiles_give_the_bits_of_the_whole(precision: str, cut: Decomposition, threads: int, seed: int) -> None:
    compare(precision, cut, threads, seed)


@pytest.mark.parametrize("rows", [1, 2])
def test_tiles_beside_one_another_may_have_a_single_row_and_block(rows: int) -> None:
    kernel = toy_of_all_kinds()
    cut = Decomposition.of(rows, 2 * WIDTH + 3, WIDTH, 3, tiles=(1, 3))
    trial = random_trial(kernel, (cut.rows, cut.columns), EULER)
    assert differences(Whole.of(kernel, trial, STEPS), cut) == []


WHAT = {
    "mixing ratios 1": (5, lambda edge: edge.min() >= 0.0, 1),
    "mixing ratios 2": (5, lambda edge: edge.min() >= 0.0, 2),
    "adjoints 1": (5, lambda edge: edge.min() < 0.0, 1),
    "adjoints 2": (5, lambda edge: edge.min() < 0.0, 2),
    "air fluxes": (4, lambda edge: True, 1),
}
"""Received data of a neighbour: dimensions along rows, index of the array, and distance of the cell."""


FOUR_TILES = Decomposition.of(8, 4 * WIDTH, WIDTH, 4, tiles=(2, 2))


@pytest.fixture(scope="module")
def whole() -> Whole:
    kernel = toy_of_all_kinds()
    return Whole.of(kernel, random_trial(kernel, (8, 4 * WIDTH), EULER, seed=3), STEPS)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("what", WHAT)
def test_a_spoilt_edge_is_found(whole: Whole, side: Side, what: str) -> None:
    """The negative control: values of one row, or column, beyond one side stand elsewhere in it."""
    dimensions, is_it, far = WHAT[what]
    along_rows = side in ("south", "north")
    place = {"west": (..., -far), "east": (..., far - 1), "south": -far, "north": far - 1}[side]
    if side == "east" and dimensions == 4:
        place = (..., 1)  # the face before it is held here, too

    def spoil(which: Side, edge: AnyArray) -> None:
        if which == side and edge.ndim == dimensions - (not along_rows) and is_it(edge):
            edge[place] = np.random.default_rng(2).permutation(edge[place].ravel()).reshape(edge[place].shape)

    assert any(each.startswith("x of tile") for each in differences(whole, FOUR_TILES, 1, spoil))
