"""A soak of random decompositions: every tile's step has the bits of the step of the whole grid."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from airshed.kernels.backends.cpu.kernel import WIDTH
from airshed.kernels.host import AnyArray
from airshed.kernels.step.arguments import SIDES, Side
from airshed.kernels.step.trial import forcing, make_stepper, random_trial, with_boundary
from airshed.parallel.decomposition import Decomposition
from airshed.program.weights import one_step_weights, two_step_weights

from .conftest import toy_of_all_kinds
from .tiles import EULER, FakeNeighbours, Tiles, cuts, differences, sums_of_tiles, wind_from

STEPS = {
    "imex": (EULER, two_step_weights(100.0, 100.0), two_step_weights(80.0, 100.0)),
    "strang": (*one_step_weights(100.0), *one_step_weights(70.0)),
}
"""Weights of successive steps: both formulas that run on ranks, with the steps before."""

OF_MUCH_WIND = Decomposition(18, 7 * WIDTH + 1, WIDTH, row_cuts=(0, 3, 8, 13, 18), block_cuts=(0, 3, 6, 8))
"""Where winds as strong as the first stage of "strang" bears would empty a cell in the steps after it."""


def compare(precision: str, cut: Decomposition, formula: str, threads: int, seed: int) -> None:
    kernel = toy_of_all_kinds(precision)
    assert kernel.shape.width == cut.width
    trial = random_trial(kernel, (cut.rows, cut.columns), EULER, seed=seed, sweeps=1 + seed % 2)  # winds of whole steps
    trial = with_boundary(trial, seed, seed % 3) if seed % 3 else trial
    assert differences(kernel, trial, cut, STEPS[formula], threads) == []


@pytest.mark.parametrize("precision", ["double", "single"])
@settings(max_examples=8)
@given(cut=cuts(), formula=st.sampled_from(sorted(STEPS)), threads=st.integers(1, 3), seed=st.integers(0, 99))
def test_any_tiles_give_the_bits_of_the_whole(
    precision: str, cut: Decomposition, formula: str, threads: int, seed: int
) -> None:
    compare(precision, cut, formula, threads, seed)


@pytest.mark.thorough
@pytest.mark.parametrize("precision", ["double", "single"])
@settings(max_examples=40)
@given(cut=cuts(), formula=st.sampled_from(sorted(STEPS)), threads=st.integers(1, 3), seed=st.integers(0, 99))
@example(cut=OF_MUCH_WIND, formula="strang", threads=1, seed=1)
def test_many_tiles_give_the_bits_of_the_whole(
    precision: str, cut: Decomposition, formula: str, threads: int, seed: int
) -> None:
    compare(precision, cut, formula, threads, seed)


@pytest.mark.parametrize("side", SIDES)
def test_a_spoilt_value_of_a_halo_is_found(side: Side) -> None:
    """The negative control: a little more of one species in one cell next to one tile, where wind blows from there."""
    kernel = toy_of_all_kinds()
    cut = Decomposition.of(8, 4 * WIDTH, WIDTH, 4, tiles=(2, 2))
    trial = wind_from(side, random_trial(kernel, (8, 4 * WIDTH), EULER, seed=3))
    nearest = {"west": (2, 1, 2, -1), "east": (2, 1, 2, 0), "south": (-1, 0, 1, 2, 3), "north": (0, 0, 1, 2, 3)}[side]

    def spoil(which: Side, buffer: AnyArray) -> None:
        if which == side:
            buffer[nearest] += 1e-10

    assert differences(kernel, trial, cut, [EULER], 1) == []
    assert any("q of tile" in each for each in differences(kernel, trial, cut, [EULER], 1, spoil))


def test_a_trial_whose_wind_empties_cells_is_found() -> None:
    """The negative control: tiles are as the whole is there too, but of budgets nothing is compared."""
    kernel, cut = toy_of_all_kinds("single"), Decomposition.of(8, 4 * WIDTH, WIDTH, 4, tiles=(2, 2))
    trials = {wind: random_trial(kernel, (8, 4 * WIDTH), EULER, wind=wind) for wind in (0.04, 1.0)}
    assert {wind: differences(kernel, trial, cut, STEPS["strang"], 1) for wind, trial in trials.items()} == {
        0.04: [], 1.0: ["no numbers"],
    }  # fmt: skip


def test_a_lost_block_is_missed_in_the_sums() -> None:
    kernel = toy_of_all_kinds()
    trial, cut = random_trial(kernel, (4, WIDTH + 1), EULER), Decomposition.of(4, WIDTH + 1, WIDTH, 2)
    with closing(Tiles.of(kernel, trial, cut, 1)) as tiles, closing(make_stepper(kernel, trial)) as whole:
        tiles.step(EULER, trial, whole.state.q.copy())
        sums = whole.step(EULER, *forcing(trial, whole.layout))
        assert np.array_equal(sums_of_tiles(kernel, tiles.blocks)[: sums.size], sums.ravel())
        tiles.blocks[0] = tiles.blocks[0][1:]
        assert not np.array_equal(sums_of_tiles(kernel, tiles.blocks)[: sums.size], sums.ravel())


def test_what_has_not_come_yet_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: steps that look beyond before anything is there."""
    kernel, cut = toy_of_all_kinds(), Decomposition.of(8, WIDTH + 1, WIDTH, 2)
    trial = wind_from("north", random_trial(kernel, (8, WIDTH + 1), EULER))
    monkeypatch.setattr(FakeNeighbours, "arrived", lambda self: True)
    assert "q of tile 0" in differences(kernel, trial, cut, [EULER], 1)
