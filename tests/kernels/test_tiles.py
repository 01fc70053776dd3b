"""A soak of random decompositions: every tile's step has the bits of the step of the whole grid.

All tiles are stepped in this process, one after the other; what their neighbours hold is filled in from the whole.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.grid.window import Window
from airshed.kernels.exact_sum import CompiledSums
from airshed.kernels.layout import AnyArray, Layout, aligned_zeros
from airshed.kernels.pieces import REACH, SIDES, Side
from airshed.kernels.pipeline import MechanismKernel
from airshed.kernels.reference.trial import Trial, forcing, make_stepper, random_trial
from airshed.kernels.step_data import TwoStepWeights
from airshed.kernels.stepper import Stepper
from airshed.parallel.decomposition import Decomposition, Tile
from airshed.parallel.exact_sum import total
from airshed.process.one_step import one_step_weights
from airshed.process.twostep import two_step_weights

Compiled = Callable[..., MechanismKernel]

EULER = two_step_weights(100.0, None)
STEPS = {
    "imex": (EULER, two_step_weights(100.0, 100.0), two_step_weights(80.0, 100.0)),
    "strang": (*one_step_weights(100.0), *one_step_weights(70.0)),
}
"""Weights of successive steps: both formulas that run on ranks, with what comes before them."""


def part_of(trial: Trial, window: Window) -> Trial:
    """The same trial as a rank has it that holds a window."""

    def cut(record: Any, **faces: str) -> Any:
        arrays = {name: value for name, value in vars(record).items() if isinstance(value, np.ndarray)}
        parts = {n: window.of_faces(a, faces[n]) if n in faces else window.of(a) for n, a in arrays.items()}
        return replace(record, **{name: np.ascontiguousarray(part) for name, part in parts.items()})

    fluxes = [cut(each, eastward="lon", northward="lat") for each in trial.air_fluxes]
    return replace(
        trial,
        box=replace(trial.box, density_factor=np.ascontiguousarray(trial.box.density_factor[:, window.rows])),
        fields=cut(trial.fields),
        air_fluxes=(fluxes[0], fluxes[1]),
        columns=(cut(trial.columns[0]), cut(trial.columns[1])),
    )


class Beyond:
    """Stands for a halo exchange: fills in what the neighbours hold from the whole, once the inner pieces are done.

    Until then, and in lanes that no face looks at, there is no number. `spoil` changes what came last.
    """

    def __init__(self, cut: Decomposition, tile: Tile, layout: Layout, middle: tuple[int, int]) -> None:
        self.tile, self.spoil = tile, lambda side, buffer: None
        self.whole = np.empty(0)
        self.buffers: dict[Side, AnyArray] = {}
        for side in SIDES:
            if cut.neighbour(tile.rank, side) is not None:
                beside = (layout.rows,) if side in ("west", "east") else (REACH, layout.blocks)
                self.buffers[side] = aligned_zeros((*beside, *middle, layout.width), layout.dtype)
        self.beyond, self.turn = {side: (buffer,) for side, buffer in self.buffers.items()}, 0

    def start(self, q: AnyArray) -> None:
        for buffer in self.buffers.values():
            buffer[...] = np.nan

    def progress(self) -> None:
        pass

    def finish(self) -> None:
        (south, north), (west, east) = self.tile.rows, self.tile.blocks
        for side, buffer in self.buffers.items():
            if side == "south":
                buffer[...] = self.whole[south - REACH : south, west:east]
            elif side == "north":
                buffer[...] = self.whole[north : north + REACH, west:east]
            elif side == "west":
                buffer[..., -REACH:] = self.whole[south:north, west - 1, ..., -REACH:]
            else:
                buffer[..., :REACH] = self.whole[south:north, east, ..., :REACH]
            self.spoil(side, buffer)

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
            made.steppers.append(make_stepper(kernel, part, threads, neighbours=made.beyond[-1], total=made.keep_sums))
        return made

    def keep_sums(self, values: np.ndarray) -> np.ndarray:
        self.blocks.append(values.copy())
        return values[0]

    def step(self, weights: TwoStepWeights, trial: Trial, whole: AnyArray) -> None:
        self.blocks.clear()
        for stepper, beyond in zip(self.steppers, self.beyond, strict=True):
            beyond.whole = whole
            stepper.step(weights, *forcing(part_of(trial, beyond.tile.window), stepper.layout))

    def sums(self, kernel: MechanismKernel) -> np.ndarray:
        """The sums over the blocks of all tiles, taken together as ranks do, the last tile first."""
        return total(self.blocks[-1], InTurn(self.blocks, CompiledSums(kernel)), CompiledSums(kernel))

    def differences(self, whole: Stepper) -> list[str]:
        """What of the tiles is not what the whole holds there, to the bit, lanes beyond the last column included."""
        wrong = []
        for tile, stepper in zip(self.cut.tiles(), self.steppers, strict=True):
            rows, blocks = slice(*tile.rows), slice(*tile.blocks)
            for name, array in vars(stepper.state).items():
                if array.tobytes() != getattr(whole.state, name)[rows, blocks].tobytes():
                    wrong.append(f"{name} of tile {tile.rank}")
        return wrong

    def close(self) -> None:
        for stepper in self.steppers:
            stepper.close()


class InTurn:
    """Stands for the ranks of a sum: knows what each of them gives."""

    def __init__(self, values: list[np.ndarray], cut: CompiledSums) -> None:
        self.values, self.cut = values, cut

    def largest(self, greatest: np.ndarray) -> np.ndarray:
        self.greatest = np.max([self.cut.magnitudes(each) for each in self.values[::-1]], axis=0)
        return self.greatest

    def total(self, parts: np.ndarray) -> np.ndarray:
        return sum(self.cut.parts(each, self.greatest) for each in self.values[::-1])


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
            now = replace(trial, weight=(number + 1) / 8.0, weight_z=number / 4.0, column_weight=1.0 - number / 4.0)
            before = whole.state.q.copy()
            sums = whole.step(weights, *forcing(now, whole.layout))
            tiles.step(weights, now, before)
            wrong = tiles.differences(whole)
            if not np.array_equal(tiles.sums(kernel), np.concatenate([sums.ravel(), whole.imbalance])):
                wrong.append("sums")
            if wrong:
                return wrong
    return []


@st.composite
def cuts(draw: st.DrawFn, width: int = 8) -> Decomposition:
    """Any cut that ranks may get, even or not: tiles of two rows and more, and of a pack and more."""
    heights = draw(st.lists(st.integers(REACH, 5), min_size=1, max_size=4))
    packs = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    last_lanes = draw(st.sampled_from([1, 2, 3, width - 1, width]))
    if last_lanes < REACH and len(packs) > 1 and packs[-1] == 1:
        packs[-1] = 2  # the tile beside the last one needs two columns of it
    rows, columns = sum(heights), (sum(packs) - 1) * width + last_lanes
    if draw(st.booleans()):
        tiles = len(heights), len(packs)
        return Decomposition.of(rows, columns, width, tiles[0] * tiles[1], tiles=tiles)
    return Decomposition(rows, columns, width, (0, *accumulate(heights)), (0, *accumulate(packs)))


@pytest.mark.parametrize(("mechanism", "precision"), [("small_strato", "double"), ("toy", "single")])
@settings(max_examples=40)
@given(cut=cuts(), formula=st.sampled_from(sorted(STEPS)), threads=st.integers(1, 3), seed=st.integers(0, 99))
def test_any_tiles_give_the_bits_of_the_whole(
    compiled: Compiled, mechanism: str, precision: str, cut: Decomposition, formula: str, threads: int, seed: int
) -> None:
    kernel = compiled(mechanism, 3, precision)
    assert kernel.shape.width == cut.width
    trial = random_trial(kernel, cut.rows, cut.columns, STEPS[formula][0], seed=seed, sweeps=1 + seed % 2)
    assert differences(kernel, trial, cut, STEPS[formula], threads) == []


@pytest.mark.parametrize("side", SIDES)
def test_a_spoilt_value_of_a_halo_is_found(compiled: Compiled, side: Side) -> None:
    """The negative control: a little more of one species in one cell next to one tile, where wind blows from there."""
    kernel = compiled("small_strato", 3)
    cut = Decomposition.of(8, 32, 8, 4, tiles=(2, 2))
    trial = wind_from(side, random_trial(kernel, 8, 32, EULER, seed=3))
    nearest = {"west": (2, 1, 2, -1), "east": (2, 1, 2, 0), "south": (-1, 0, 1, 2, 3), "north": (0, 0, 1, 2, 3)}[side]

    def spoil(which: Side, buffer: AnyArray) -> None:
        if which == side:
            buffer[nearest] += 1e-10

    assert differences(kernel, trial, cut, [EULER], 1) == []
    assert any("q of tile" in each for each in differences(kernel, trial, cut, [EULER], 1, spoil))


def wind_from(side: Side, trial: Trial) -> Trial:
    sign = 1.0 if side in ("west", "south") else -1.0
    winds = [
        replace(each, eastward=sign * np.abs(each.eastward) + sign, northward=sign * np.abs(each.northward) + sign)
        for each in trial.air_fluxes
    ]
    return replace(trial, air_fluxes=(winds[0], winds[1]))


def test_a_lost_block_is_missed_in_the_sums(compiled: Compiled) -> None:
    kernel = compiled("small_strato", 3)
    trial, cut = random_trial(kernel, 4, 9, EULER), Decomposition.of(4, 9, 8, 2)
    with closing(Tiles.of(kernel, trial, cut, 1)) as tiles, closing(make_stepper(kernel, trial)) as whole:
        tiles.step(EULER, trial, whole.state.q.copy())
        sums = whole.step(EULER, *forcing(trial, whole.layout))
        assert np.array_equal(tiles.sums(kernel)[: sums.size], sums.ravel())
        tiles.blocks[0] = tiles.blocks[0][1:]
        assert not np.array_equal(tiles.sums(kernel)[: sums.size], sums.ravel())
