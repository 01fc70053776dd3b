"""Preparation of batches of steps, and their computation by threads."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.kernels.abi import PARTS
from airshed.kernels.backends.cpu.argument_table import ArgumentTable
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.kernels.step.arguments import (
    HORIZONTAL_TERMS,
    ColumnForcing,
    Neighbours,
    Side,
    State,
    StepConstants,
    StepForcing,
    StepObserver,
    TransportForcing,
)
from airshed.program.weights import StageWeights

if TYPE_CHECKING:
    from airshed.kernels.backends.cpu.kernel import StepKernel


class Stepper:
    """Advance a :class:`State` by the compiled code of a mechanism.

    neighbours  halo exchange at open sides; None if the area has no neighbours
    total       exact sum of block sums over the first axis and over all ranks; None for the sums of this rank
    state       state of another stepper, advanced by both; None for a new one
    batch       largest number of steps of one :meth:`advance`
    observer    callback before each step, with its forcing and the state at its start; None for none
    pool        the other threads, None for one thread; it accepts further jobs
    """

    def __init__(
        self, kernel: "StepKernel", layout: Layout, constants: StepConstants, *, threads: int = 1,
        neighbours: Neighbours | None = None, total: Callable[[Array], Array] | None = None,
        state: State | None = None, batch: int = 1,
    ) -> None:  # fmt: skip
        self.kernel, self.layout, self.sweeps, self.batch = kernel, layout, constants.sweeps, batch
        self.neighbours, self._total = neighbours, total or kernel.sums.total
        species, levels = len(kernel.network.species), kernel.shape.levels
        self.state = state or State.zeros(layout, species, levels)
        self._terms = (
            (len(kernel.terms), species) if kernel.shape.vertical else (len(HORIZONTAL_TERMS), species, levels)
        )
        sums = prod(self._terms) + len(kernel.shape.families)
        self._sums: Array = layout.array((batch, layout.rows * layout.blocks, sums), np.float64).view(np.float64)
        self._totals = np.zeros(sums)
        self.threads = max(1, min(threads, layout.rows))
        self.pool = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None
        sides: Collection[Side] = () if self.neighbours is None else self.neighbours.sides
        self._table = ArgumentTable(layout, batch, sides, constants, kernel.shape.operators, levels)
        self._work = kernel.step_queue(self._table, layout, sides, threads=self.threads, pool=self.pool)
        self._arrived = True
        self.observer: StepObserver | None = None

    def step(
        self, weights: StageWeights, transport: TransportForcing, column: ColumnForcing | None
    ) -> npt.NDArray[np.float64]:
        """Advance the state from n to n+1; return the sums of the budget terms (term, species), see `kernel.terms`.

        column  None if the kernel has no vertical part; the sums are then (term, species, level).
        """
        self._totals = self._total(self.advance([StepForcing(weights, transport, column)])[0])
        return self.by_term(self._totals)[0]

    def advance(self, steps: Sequence[StepForcing]) -> Array:
        """Advance the state by a batch of steps; return the summands of the budgets, (step, block, sum).

        See :meth:`by_term`. The array is valid until the next call.
        """
        sums = self._sums[: len(steps)]
        together = len(steps) if self.neighbours is None else 1  # the halo is exchanged for each step
        together = together if self.observer is None else 1
        for first in range(0, len(steps), together):
            some = slice(first, first + together)
            if self.observer is not None:
                self.observer(steps[first], self.state)
            self._advance(steps[some], sums[some])
        return sums

    def _advance(self, steps: Sequence[StepForcing], sums: Array) -> None:
        """Advance by steps without a halo exchange between them."""
        edges: Mapping[Side, AnyArray] = {}
        if self.neighbours is not None:
            edges, self._arrived = self.neighbours.start(self.state.q), False
        for number, each in enumerate(steps):
            which = self._work.steps + 1 + number
            self._table.fill(which, self.state, each, edges, sums[number], self.sweeps)
            self.state.rotate()
        self._work.work(len(steps), None if self.neighbours is None else self._drive_exchange)

    def _drive_exchange(self) -> None:
        """Release the pieces that need the halo once it has arrived."""
        assert self.neighbours is not None
        if not self._arrived and self.neighbours.arrived():
            self._arrived = True
            self._work.edges_are_here()

    def set_boundary(self, profile: Array, top: Array) -> None:
        """Set the lateral profile (species, level) and the top (species,)."""
        self._table.set_boundary(profile, top)

    def total(self, sums: Array) -> Array:
        """Return sums (block, ...) over all blocks, including other ranks: (...)."""
        return self._total(np.ascontiguousarray(sums))

    def by_term(self, totals: Array) -> tuple[Array, Array]:
        """Split the sums (sum,) of a step into budget terms (term, species) and families."""
        count = prod(self._terms)
        found, families = totals[:count].reshape(self._terms), totals[count:]
        if self.kernel.shape.vertical:
            return found, families
        terms = np.zeros((len(self.kernel.terms), *self._terms[1:]))
        terms[list(HORIZONTAL_TERMS)] = found
        return terms, families

    @property
    def imbalance(self) -> Array:
        """Atoms of each family that unbalanced reactions produced in the last step [mol/s]."""
        return self.by_term(self._totals)[1]

    @property
    def seconds(self) -> dict[str, float]:
        """Time in each part of the step, summed over threads [s]."""
        return dict(zip(PARTS, self._work.seconds.tolist(), strict=True))

    @property
    def waited(self) -> float:
        """Wall time [s] of waiting for the halo."""
        return self._work.waited

    def close(self) -> None:
        """Stop the threads and the halo exchange."""
        if self.neighbours is not None:
            self.neighbours.close()
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)
