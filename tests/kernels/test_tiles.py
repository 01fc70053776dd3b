"""A soak of random decompositions: every tile's step has the bits of the step of the whole grid.

All tiles are stepped in this process, one after the other; what their neighbours hold is filled in from the whole.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from airshed.kernels.cpu.pipeline import WIDTH, MechanismKernel
from airshed.kernels.cpu.stepper import Stepper
from airshed.kernels.layout import Layout
from airshed.kernels.memory import AnyArray, aligned_zeros
from airshed.kernels.reference.trial import Trial, forcing, make_stepper, random_trial
from airshed.kernels.step.data import REACH, SIDES, OtherRanks, Side, TwoStepWeights
from airshed.parallel.decomposition import Decomposition, Tile
from airshed.process.twostep import one_step_weights, two_step_weights

from .kinds import every
from .tiles import EULER, Compiled, at_step, cuts, part_of, sums_of_tiles, wind_from, wrong_states

STEPS = {
    "imex": (EULER, two_step_weights(100.0, 100.0), two_step_weights(80.0, 100.0)),
    "strang": (*one_step_weights(100.0), *one_step_weights(70.0)),
}
"""Weights of successive steps: both formulas that run on ranks, with what comes before them."""

LATE = 12
"""How often neighbours are asked for their edges until they are there."""

OF_MUCH_WIND = Decomposition(18, 7 * WIDTH + 1, WIDTH, row_cuts=(0, 3, 8, 13, 18), block_cuts=(0, 3, 6, 8))
"""Where winds as strong as the first stage of "strang" bears would empty a cell in the steps after it."""


class Beyond:
    """Stands for neighbours whose edges come by messages: fills in what they hold from the whole, after a while.

    Until then, and in lanes that no face looks at, there is no number. `spoil` changes what came last.
    """

    def __init__(self, cut: Decomposition, tile: Tile, layout: Layout, middle: tuple[int, int]) -> None:
        self.tile, self.spoil = tile, lambda side, buffer: None
        self.whole, self.asked = np.empty(0), 0
        self._edges: dict[Side, AnyArray] = {}
        for side in SIDES:
            if cut.neighbour(tile.rank, side) is not None:
                beside = (layout.rows,) if side in ("west", "east") else (REACH, layout.blocks)
                self._edges[side] = aligned_zeros((*beside, *middle, layout.width), layout.dtype)
        self.sides = tuple(self._edges)

    def start(self, q: AnyArray) -> dict[Side, AnyArray]:
        self.asked = 0
        for buffer in self._edges.values():
            buffer[...] = np.nan
        return self._edges

    def arrived(self) -> bool:
        """They are late, so that all pieces are computed before that can be."""
        self.asked += 1
        if self.asked < LATE:
            return False
        (south, north), (west, east) = self.tile.rows, self.tile.blocks
        for side, buffer in self._edges.items():
            if side == "south":
                buffer[...] = self.whole[south - REACH : south, west:east]
            elif side == "north":
                buffer[...] = self.whole[north : north + REACH, west:east]
            elif side == "west":
                buffer[..., -REACH:] = self.whole[south:north, west - 1, ..., -REACH:]
            else:
                buffer[..., :REACH] = self.whole[south:north, east, ..., :REACH]
            self.spoil(side, buffer)
        return True

    def close(self) -> None:
        pass


@dataclass
class Tiles:
    """The steppers of all tiles; after a step `blocks` holds the sums of the blocks of each of them."""

    cut: Decomposition
    steppers: list[Stepper]
    beyond: list[Beyond]
    blocks: list[np.ndarray]

    @classmethod
    def of(cls, kernel: MechanismKernel, trial: Trial, cut: Decomposition, threads: int) -> "Tiles":
        made = cls(cut, [], [], [])
        middle = trial.fields.q.shape[:2]
        for tile in cut.tiles():
            layout = Layout(*tile.window.shape, kernel.shape.width, kernel.dtype)
            made.beyond.append(Beyond(cut, tile, layout, middle))
            part = part_of(trial, tile.window)
            made.steppers.append(
                make_stepper(kernel, part, threads, others=OtherRanks(made.beyond[-1], made.keep_sums))
            )
        return made

    def keep_sums(self, values: np.ndarray) -> np.ndarray:
        self.blocks.append(values.copy())
        return values[0]

    def step(self, weights: TwoStepWeights, trial: Trial, whole: AnyArray) -> None:
        self.blocks.clear()
        for stepper, beyond in zip(self.steppers, self.beyond, strict=True):
            beyond.whole = whole
            stepper.step(weights, *forcing(part_of(trial, beyond.tile.window), stepper.layout))

    def close(self) -> None:
        for stepper in self.steppers:
            stepper.close()


def differences(
    kernel: MechanismKernel, trial: Trial, cut: Decomposition, steps: Sequence[TwoStepWeights], threads: int,
    spoil: Callable[[Side, AnyArray], None] | None = None,
) -> list[str]:  # fmt: skip
    """Return what differs between the whole and the tiles after the first step after which anything does."""
    whole, tiles = make_stepper(kernel, trial, threads), Tiles.of(kernel, trial, cut, threads)
    with closing(whole), closing(tiles):
        for beyond in tiles.beyond if spoil is not None else []:
            beyond.spoil = spoil
        for number, weights in enumerate(steps):
            now = at_step(trial, number)
            before = whole.state.q.copy()
            sums = whole.step(weights, *forcing(now, whole.layout))
            tiles.step(weights, now, before)
            wrong, expected = wrong_states(cut, tiles.steppers, whole), np.concatenate([sums.ravel(), whole.imbalance])
            if sums_of_tiles(kernel, tiles.blocks).tobytes() != expected.tobytes():
                wrong.append("sums")
            if not np.isfinite(expected).all():
                wrong.append("no numbers")  # which would be alike whatever they come from
            if wrong:
                return wrong
    return []


@pytest.mark.parametrize(("mechanism", "precision"), [("small_strato", "double"), ("toy", "single")])
@settings(max_examples=40)
@given(cut=cuts(), formula=st.sampled_from(sorted(STEPS)), threads=st.integers(1, 3), seed=st.integers(0, 99))
@example(cut=OF_MUCH_WIND, formula="strang", threads=1, seed=1)
def test_any_tiles_give_the_bits_of_the_whole(
    compiled: Compiled, mechanism: str, precision: str, cut: Decomposition, formula: str, threads: int, seed: int
) -> None:
    kernel = compiled(mechanism, 3, precision, operators=every)
    assert kernel.shape.width == cut.width
    trial = random_trial(kernel, (cut.rows, cut.columns), EULER, seed=seed, sweeps=1 + seed % 2)  # winds of whole steps
    assert differences(kernel, trial, cut, STEPS[formula], threads) == []


@pytest.mark.parametrize("side", SIDES)
def test_a_spoilt_value_of_a_halo_is_found(compiled: Compiled, side: Side) -> None:
    """The negative control: a little more of one species in one cell next to one tile, where wind blows from there."""
    kernel = compiled("small_strato", 3)
    cut = Decomposition.of(8, 4 * WIDTH, WIDTH, 4, tiles=(2, 2))
    trial = wind_from(side, random_trial(kernel, (8, 4 * WIDTH), EULER, seed=3))
    nearest = {"west": (2, 1, 2, -1), "east": (2, 1, 2, 0), "south": (-1, 0, 1, 2, 3), "north": (0, 0, 1, 2, 3)}[side]

    def spoil(which: Side, buffer: AnyArray) -> None:
        if which == side:
            buffer[nearest] += 1e-10

    assert differences(kernel, trial, cut, [EULER], 1) == []
    assert any("q of tile" in each for each in differences(kernel, trial, cut, [EULER], 1, spoil))


def test_a_trial_whose_wind_empties_cells_is_found(compiled: Compiled) -> None:
    """The negative control: tiles are as the whole is there too, but of budgets nothing is compared."""
    kernel, cut = compiled("toy", 3, "single", operators=every), Decomposition.of(8, 4 * WIDTH, WIDTH, 4, tiles=(2, 2))
    trials = {wind: random_trial(kernel, (8, 4 * WIDTH), EULER, wind=wind) for wind in (0.04, 1.0)}
    assert {wind: differences(kernel, trial, cut, STEPS["strang"], 1) for wind, trial in trials.items()} == {
        0.04: [], 1.0: ["no numbers"],
    }  # fmt: skip


def test_a_lost_block_is_missed_in_the_sums(compiled: Compiled) -> None:
    kernel = compiled("small_strato", 3)
    trial, cut = random_trial(kernel, (4, WIDTH + 1), EULER), Decomposition.of(4, WIDTH + 1, WIDTH, 2)
    with closing(Tiles.of(kernel, trial, cut, 1)) as tiles, closing(make_stepper(kernel, trial)) as whole:
        tiles.step(EULER, trial, whole.state.q.copy())
        sums = whole.step(EULER, *forcing(trial, whole.layout))
        assert np.array_equal(sums_of_tiles(kernel, tiles.blocks)[: sums.size], sums.ravel())
        tiles.blocks[0] = tiles.blocks[0][1:]
        assert not np.array_equal(sums_of_tiles(kernel, tiles.blocks)[: sums.size], sums.ravel())


def test_what_has_not_come_yet_is_missed(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: steps that look beyond before anything is there."""
    kernel, cut = compiled("small_strato", 3), Decomposition.of(8, WIDTH + 1, WIDTH, 2)
    trial = wind_from("north", random_trial(kernel, (8, WIDTH + 1), EULER))
    monkeypatch.setattr(Beyond, "arrived", lambda self: True)
    assert "q of tile 0" in differences(kernel, trial, cut, [EULER], 1)
