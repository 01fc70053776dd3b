"""Tiles as ranks of one machine that share memory, in one process: each is driven by a thread of its own."""

import mmap
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Final, TypeVar

import numpy as np

from airshed.kernels.layout import AnyArray, Layout
from airshed.kernels.pieces import SIDES, Side
from airshed.kernels.pipeline import MechanismKernel
from airshed.kernels.reference.trial import Trial, forcing, make_stepper
from airshed.kernels.step_arguments import address
from airshed.kernels.step_data import Near, Room, StepForcing, TwoStepWeights
from airshed.kernels.stepper import Stepper
from airshed.parallel.decomposition import Decomposition
from airshed.parallel.machine_memory import HEAD, Stretch

from .tiles import at_step, part_of

T = TypeVar("T")

MOST: Final = 4
"""Steps in the longest stretch."""

_SIZE: Final = 2**24
_PATIENCE: Final = 60.0  # s, after which a test has failed


class GaveUpError(Exception):
    """Another tile failed, for which this one would wait."""


class Beside:
    """Neighbours whose state is read where it lies; satisfies ``kernels.step_data.Neighbours``.

    idle  is called while there is nothing to do
    """

    beyond: Mapping[Side, AnyArray] = {}

    def __init__(self, tiles: "NearTiles", rank: int) -> None:
        to = {side: tiles.cut.neighbour(rank, side) for side in SIDES}
        self._tiles, self._to = tiles, {side: other for side, other in to.items() if other is not None}
        self.sides, self.number, self.idle = tuple(self._to), rank, lambda: None
        self.blocks = max(tile.blocks[1] - tile.blocks[0] for tile in tiles.cut.tiles())
        self.room = tiles.room(rank)

    def meet(self, here: Near) -> dict[Side, Near]:
        told = self._tiles.told
        told[self.number] = here
        self._tiles.met.wait(_PATIENCE)
        return {side: told[rank] for side, rank in self._to.items()}

    def start(self, q: AnyArray) -> None:
        raise AssertionError("there is nobody to send a message to")

    def arrived(self) -> bool:
        raise AssertionError("there is nobody who would send a message")

    def progress(self) -> None:
        if self._tiles.failed:
            raise GaveUpError
        self.idle()

    def close(self) -> None:
        pass


class NearTiles:
    """The steppers of all tiles of a trial.

    beside   what each of them is told of its neighbours
    helping  whether tiles may compute pieces of their neighbours
    """

    def __init__(
        self, kernel: MechanismKernel, trial: Trial, cut: Decomposition, threads: int = 1, *, helping: bool = True
    ) -> None:
        self.cut, self._kernel, self._trial, self._helping = cut, kernel, trial, helping
        self._tiles = list(cut.tiles())
        self._mapping = mmap.mmap(-1, _SIZE * len(self._tiles))
        self._first = address(np.frombuffer(self._mapping, np.uint8, 1))
        self.told: dict[int, Near] = {}
        self.met, self.failed = Barrier(len(self._tiles)), False
        self.beside = [Beside(self, tile.rank) for tile in self._tiles]

        def make(rank: int) -> Stepper:
            memory = Stretch(self._mapping, rank * _SIZE + HEAD, (rank + 1) * _SIZE)
            part, beside = self._part(trial, rank), self.beside[rank]
            return make_stepper(kernel, part, threads, neighbours=beside, memory=memory, at_once=MOST)

        self.steppers = self.each(make)

    def room(self, rank: int) -> Room:
        """Where a tile's slot lies."""
        mapping = (self._first, len(self._mapping)) if self._helping else (0, 0)
        return Room(self._first + rank * _SIZE, mapping)

    def each(self, function: Callable[[int], T]) -> list[T]:
        """What a function of its number returns for each tile, each on a thread of its own."""

        def guarded(rank: int) -> T:
            try:
                return function(rank)
            except BaseException:
                self.failed = True
                self.met.abort()
                raise

        with ThreadPoolExecutor(len(self._tiles)) as pool:
            jobs = [pool.submit(guarded, rank) for rank in range(len(self._tiles))]
        found = [job.exception() for job in jobs]
        for error in found:
            if error is not None and not isinstance(error, GaveUpError):
                raise error
        return [job.result() for job in jobs]

    def forcing(self, rank: int, number: int, weights: TwoStepWeights, layout: Layout) -> StepForcing:
        """What a tile is given for a step, where the layout has its arrays."""
        now = self._part(at_step(self._trial, number), rank)
        return StepForcing(weights, *forcing(now, layout))

    def advance(self, rank: int, first: int, weights: Sequence[TwoStepWeights]) -> list[np.ndarray]:
        """Make steps of a tile in one stretch; the sums of blocks of each."""
        stepper = self.steppers[rank]
        steps = [self.forcing(rank, first + number, each, stepper.layout) for number, each in enumerate(weights)]
        return [each.copy() for each in stepper.advance(steps)]

    def run(self, weights: Sequence[TwoStepWeights], seed: int) -> list[list[np.ndarray]]:
        """Make steps of all tiles, in stretches of random length and late by turns; the sums of each step by tile."""

        def work(rank: int) -> list[np.ndarray]:
            dice, sums = random.Random(1000 * seed + rank), list[np.ndarray]()
            crew = self.steppers[rank].crew
            worked = crew.work

            def late(between: Callable[[], None] | None) -> None:
                """Sleep when steps are prepared: others may compute them."""
                _sleep(dice)
                worked(between)

            crew.work = late  # type: ignore[method-assign]
            while len(sums) < len(weights):
                _sleep(dice)
                sums += self.advance(rank, len(sums), weights[len(sums) : len(sums) + dice.randint(1, MOST)])
            return sums

        return [list(of_step) for of_step in zip(*self.each(work), strict=True)]

    def close(self) -> None:
        for stepper in self.steppers:
            stepper.close()

    def _part(self, trial: Trial, rank: int) -> Trial:
        return part_of(trial, self._tiles[rank].window)


def _sleep(dice: random.Random) -> None:
    """Now and then for a while, in which others make some steps."""
    if dice.random() < 0.3:
        time.sleep(dice.uniform(0.0, 2e-3))
