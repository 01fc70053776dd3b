"""Tiles of a grid for tests: the part of a trial on a rank, and the comparison of the tiles with the whole.

All tiles are stepped in this process, one after the other; their halo is copied from the whole.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np
from hypothesis import strategies as st

from airshed.grid.window import Window
from airshed.kernels.backends.cpu.kernel import WIDTH, ExactSums, StepKernel
from airshed.kernels.backends.cpu.stepper import Stepper
from airshed.kernels.boundary import FaceCells
from airshed.kernels.column.reference import Column
from airshed.kernels.host import AnyArray, aligned_zeros
from airshed.kernels.layout import Layout
from airshed.kernels.step.arguments import REACH, SIDES, Side
from airshed.kernels.step.trial import Trial, forcing, make_stepper
from airshed.parallel.decomposition import Decomposition, Tile
from airshed.parallel.domain import total
from airshed.program.weights import StageWeights, two_step_weights

Compiled = Callable[..., StepKernel]

EULER = two_step_weights(100.0, None)


def part_of(trial: Trial, window: Window) -> Trial:
    """The same trial as a rank has it that holds a window."""

    def cut_arrays(arrays: Mapping[str, np.ndarray], faces: Mapping[str, str]) -> dict[str, np.ndarray]:
        parts = {n: window.of_faces(a, faces[n]) if n in faces else window.of(a) for n, a in arrays.items()}
        return {name: np.ascontiguousarray(part) for name, part in parts.items()}

    def cut(record: Any, **faces: str) -> Any:
        arrays = {name: value for name, value in vars(record).items() if isinstance(value, np.ndarray)}
        return replace(record, **cut_arrays(arrays, faces))

    def cut_column(column: Column) -> Column:
        return replace(cut(column), fields=cut_arrays(column.fields, {}))

    shapes = {"west faces": "x", "south faces": "y"}
    own = {field.name: shapes.get(field.shape) for each in trial.setup.operators for field in each.fields}
    faces = {name: way for name, way in own.items() if way is not None}
    around = FaceCells(*trial.fields.air.shape[1:])
    boundary = trial.boundary and tuple(around.part(each, window.rows, window.columns) for each in trial.boundary)
    fluxes = [cut(each, eastward="x", northward="y") for each in trial.air_fluxes]
    return replace(
        trial,
        setup=replace(trial.setup, density_factor=np.ascontiguousarray(window.of(trial.setup.density_factor))),
        fields=cut(trial.fields),
        air_fluxes=(fluxes[0], fluxes[1]),
        columns=(cut_column(trial.columns[0]), cut_column(trial.columns[1])),
        explicit=(cut_arrays(trial.explicit[0], faces), cut_arrays(trial.explicit[1], faces)),
        boundary=boundary,
    )


def at_step(trial: Trial, number: int) -> Trial:
    """The trial with other weights of its forcing in each step."""
    place = number % 5
    return replace(trial, weight=(place + 1) / 8.0, weight_z=place / 4.0, column_weight=1.0 - place / 4.0,
                   boundary_weight=place / 5.0)  # fmt: skip


def wrong_states(cut: Decomposition, steppers: Sequence[Stepper], whole: Stepper) -> list[str]:
    """Return the differences between the tiles and the whole, to the bit, including lanes beyond the last column."""
    wrong = []
    for tile, stepper in zip(cut.tiles(), steppers, strict=True):
        rows, blocks = slice(*tile.rows), slice(*tile.blocks)
        for name, array in vars(stepper.state).items():
            if array.tobytes() != getattr(whole.state, name)[rows, blocks].tobytes():
                wrong.append(f"{name} of tile {tile.rank}")
    return wrong


def sums_of_tiles(kernel: StepKernel, blocks: Sequence[np.ndarray]) -> np.ndarray:
    """The sums over the blocks of all tiles, taken together as ranks do, the last tile first."""
    return total(blocks[-1], InTurn(blocks, kernel.sums), kernel.sums)


class InTurn:
    """Fake ranks of a sum, with the contribution of each rank."""

    def __init__(self, values: Sequence[np.ndarray], cut: ExactSums) -> None:
        self.values, self.cut = values, cut

    def largest(self, greatest: np.ndarray) -> np.ndarray:
        self.greatest = np.max([self.cut.magnitudes(each) for each in self.values[::-1]], axis=0)
        return self.greatest

    def total(self, parts: np.ndarray) -> np.ndarray:
        return sum(self.cut.parts(each, self.greatest) for each in self.values[::-1])


@st.composite
def cuts(draw: st.DrawFn, width: int = WIDTH) -> Decomposition:
    """Any cut that ranks may get, even or not: tiles of two rows and more, and of a pack and more."""
    heights = draw(st.lists(st.integers(REACH, 5), min_size=1, max_size=4))
    packs = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    last_lanes = draw(st.sampled_from([1, 2, 3, width - 1, width]))
    if last_lanes < REACH and len(packs) > 1 and packs[-1] == 1:
        packs[-1] = 2  # the tile next to the last one needs two of its columns
    rows, columns = sum(heights), (sum(packs) - 1) * width + last_lanes
    if draw(st.booleans()):
        tiles = len(heights), len(packs)
        return Decomposition.of(rows, columns, width, tiles[0] * tiles[1], tiles=tiles)
    return Decomposition(rows, columns, width, (0, *accumulate(heights)), (0, *accumulate(packs)))


def wind_from(side: Side, trial: Trial) -> Trial:
    sign = 1.0 if side in ("west", "south") else -1.0
    winds = [
        replace(each, eastward=sign * np.abs(each.eastward) + sign, northward=sign * np.abs(each.northward) + sign)
        for each in trial.air_fluxes
    ]
    return replace(trial, air_fluxes=(winds[0], winds[1]))


LATE = 12
"""Number of checks before the edges of neighbours arrive."""


class FakeNeighbours:
    """Fake neighbours with messages: after a while they copy the halo from the whole.

    Until then, and in lanes outside of all stencils, values are NaN. `spoil` changes the last received data.
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
    beyond: list[FakeNeighbours]
    blocks: list[np.ndarray]

    @classmethod
    def of(cls, kernel: StepKernel, trial: Trial, cut: Decomposition, threads: int) -> "Tiles":
        made = cls(cut, [], [], [])
        middle = trial.fields.q.shape[:2]
        for tile in cut.tiles():
            layout = Layout(*tile.window.shape, kernel.shape.width, kernel.dtype)
            made.beyond.append(FakeNeighbours(cut, tile, layout, middle))
            part = part_of(trial, tile.window)
            made.steppers.append(make_stepper(kernel, part, threads, neighbours=made.beyond[-1], total=made.keep_sums))
        return made

    def keep_sums(self, values: np.ndarray) -> np.ndarray:
        self.blocks.append(values.copy())
        return values[0]

    def step(self, weights: StageWeights, trial: Trial, whole: AnyArray) -> None:
        self.blocks.clear()
        for stepper, beyond in zip(self.steppers, self.beyond, strict=True):
            beyond.whole = whole
            stepper.step(weights, *forcing(part_of(trial, beyond.tile.window), stepper.layout))

    def close(self) -> None:
        for stepper in self.steppers:
            stepper.close()


def differences(
    kernel: StepKernel, trial: Trial, cut: Decomposition, steps: Sequence[StageWeights], threads: int,
    spoil: Callable[[Side, AnyArray], None] | None = None,
) -> list[str]:  # fmt: skip
    """Return the differences between the whole and the tiles after the first step with a difference."""
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
