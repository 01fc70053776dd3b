"""Steps reversed on tiles of a grid, each in a thread of its own, and held against the whole, to the bit."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from queue import Queue
from typing import Any

import numpy as np

from airshed.kernels.backends.cpu.kernel import StepKernel
from airshed.kernels.backends.cpu.reverser import Reverser
from airshed.kernels.boundary import BoundaryForcing
from airshed.kernels.host import AnyArray, aligned_empty
from airshed.kernels.layout import Layout
from airshed.kernels.step.arguments import Side, StepConstants, StepForcing, TimeLevel
from airshed.kernels.step.trial import Trial, forcing, make_stepper
from airshed.parallel.decomposition import OPPOSITE, Decomposition, Tile
from airshed.program.weights import StageWeights

from .tiles import part_of

Spoil = Callable[[Side, AnyArray], None]

PATIENCE = 60.0
"""For a neighbour [s]."""


@dataclass
class Queues:
    """Fake messages between the tiles of a decomposition; `spoil` changes the received data."""

    cut: Decomposition
    spoil: Spoil = lambda side, edge: None
    waiting: dict[tuple[int, Side], "Queue[AnyArray]"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.waiting = {(tile.rank, side): Queue() for tile in self.cut.tiles() for side in OPPOSITE}


@dataclass(frozen=True)
class Neighbours:
    """The neighbours of one tile; satisfies ``kernels.step.arguments.HaloExchange``."""

    queues: Queues
    tile: Tile

    @property
    def sides(self) -> list[Side]:
        return [side for side in OPPOSITE if self.queues.cut.neighbour(self.tile.rank, side) is not None]

    def __call__(self, outgoing: Mapping[Side, AnyArray], incoming: Mapping[Side, AnyArray]) -> None:
        for side, edge in outgoing.items():
            other = self.queues.cut.neighbour(self.tile.rank, side)
            assert other is not None
            self.queues.waiting[other, OPPOSITE[side]].put(edge.copy())
        for side, edge in incoming.items():
            edge[...] = self.queues.waiting[self.tile.rank, side].get(timeout=PATIENCE)
            self.queues.spoil(side, edge)


@dataclass(frozen=True)
class PassResult:
    """Steps that were made of the whole: packed levels 0, 1, ..., tendencies before the first and after the last."""

    levels: Sequence[TimeLevel]
    first: AnyArray
    last: AnyArray


def constants_of(trial: Trial) -> StepConstants:
    setup = trial.setup
    return StepConstants(
        setup.boundary.sides, setup.boundary.top, setup.density_factor, setup.vertical_weights, setup.thickness,
        setup.emitted, setup.sweeps, setup.oxygen, setup.nitrogen,
    )  # fmt: skip


def forcings(trial: Trial, layout: Layout, weights: Sequence[StageWeights]) -> list[StepForcing]:
    """Steps in one interval of the forcing, each at another place in it."""
    transport, column = forcing(trial, layout)

    def at(number: int) -> BoundaryForcing | None:
        return transport.boundary and replace(transport.boundary, weight=number / 3.0)

    return [
        StepForcing(
            each,
            replace(transport, weight=(n + 1) / 8.0, weight_z=n / 4.0, boundary=at(n)),
            replace(column, weight=1.0 - n / 4.0),
        )
        for n, each in enumerate(weights)
    ]


def run(kernel: StepKernel, trial: Trial, weights: Sequence[StageWeights]) -> PassResult:
    with closing(make_stepper(kernel, trial)) as stepper:
        state, first = stepper.state, stepper.state.tendency.copy()
        levels = [TimeLevel(state.q_other.copy(), state.air_other.copy()), TimeLevel(state.q.copy(), state.air.copy())]
        for each in forcings(trial, stepper.layout, weights):
            stepper.advance([each])
            levels.append(TimeLevel(state.q.copy(), state.air.copy()))
        return PassResult(levels, first, state.tendency.copy())


def reversed_run(
    kernel: StepKernel, trial: Trial, weights: Sequence[StageWeights], passed: PassResult, seed: AnyArray,
    threads: int, place: tuple[slice, slice], halo_exchange: Neighbours | None,
) -> dict[str, AnyArray]:  # fmt: skip
    """Return all adjoints that steps leave behind of a place of the whole; `seed` is that of the last level."""
    _, rows, columns = trial.fields.air.shape
    layout = kernel.layout(rows, columns)
    steps = forcings(trial, layout, weights)
    levels = [TimeLevel(aligned(each.q[place]), aligned(each.air[place])) for each in passed.levels]
    sources = layout.zeros(len(trial.fields.q), kernel.shape.levels)
    reverser = kernel.reverser(
        layout, constants_of(trial), threads=threads, input_adjoints=True, halo_exchange=halo_exchange
    )
    with closing(reverser):
        reverser.start(aligned(passed.last[place]))
        reverser.x[...] = seed[place]
        for n in reversed(range(len(steps))):
            before = steps[n - 1] if n else aligned(passed.first[place])
            reverser.reverse(steps[n], levels[n : n + 3], before, [(0.7, sources)])
        reverser.finish(levels[1])
        return found_of(reverser) | {"sources": sources}


def found_of(reverser: Reverser) -> dict[str, AnyArray]:
    names = "x", "older", "older_tendency", "boundary_profile", "top", "reactions"
    read: Any = reverser.input_adjoints
    rows, blocks = reverser.layout.rows, reverser.layout.blocks
    fields = {f"{each.name} {n}": each.adjoint[:rows, :blocks] for n, each in enumerate(read.fields)}
    return {name: getattr(reverser, name).copy() for name in names} | dict(read.numbers) | fields


def aligned(array: AnyArray) -> AnyArray:
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


@dataclass(frozen=True)
class Whole:
    """Steps of the whole grid, the adjoint of the last level, and all adjoints that they leave behind."""

    kernel: StepKernel
    trial: Trial
    weights: Sequence[StageWeights]
    passed: PassResult
    seed: AnyArray
    found: dict[str, AnyArray]

    @classmethod
    def of(cls, kernel: StepKernel, trial: Trial, weights: Sequence[StageWeights]) -> "Whole":
        passed = run(kernel, trial, weights)
        seed = np.random.default_rng(1).normal(size=passed.last.shape)
        seed[:, -1, ..., kernel.layout(*trial.fields.air.shape[1:]).last_lanes :] = 0.0
        everywhere = slice(None), slice(None)
        found = reversed_run(kernel, trial, weights, passed, seed, 1, everywhere, None)
        return cls(kernel, trial, weights, passed, seed, found)


def differences(whole: Whole, cut: Decomposition, threads: int = 1, spoil: Spoil | None = None) -> list[str]:
    """Return the differences between the tiles of a decomposition and the whole."""
    queues = Queues(cut)
    if spoil is not None:
        queues.spoil = spoil

    def of_tile(tile: Tile) -> dict[str, AnyArray]:
        place = slice(*tile.rows), slice(*tile.blocks)
        part = part_of(whole.trial, tile.window)
        neighbours = Neighbours(queues, tile)
        return reversed_run(whole.kernel, part, whole.weights, whole.passed, whole.seed, threads, place, neighbours)

    tiles = cut.tiles()
    with ThreadPoolExecutor(len(tiles)) as pool:
        parts = list(pool.map(of_tile, tiles))
    return [
        f"{name} of tile {tile.rank}"
        for tile, part in zip(tiles, parts, strict=True)
        for name, array in part.items()
        if array.tobytes() != whole.found[name][slice(*tile.rows), slice(*tile.blocks)].tobytes()
    ]
