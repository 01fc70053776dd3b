"""One time step of every column on threads: owns the state's arrays and calls the compiled code over pieces of them."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.kernels.exact_sum import CompiledSums
from airshed.kernels.layout import AnyArray, Layout, aligned_zeros
from airshed.kernels.pieces import SIDES, Open, Pieces, Side, cut
from airshed.kernels.pipeline import MechanismKernel
from airshed.kernels.step_arguments import OF_PLANES, PARTS, TERMS, address
from airshed.kernels.step_data import ColumnForcing, Neighbours, State, TransportForcing, TwoStepWeights
from airshed.kernels.step_places import StepPlaces

_ALL: Final = 2**62
"""More pieces than any step has."""

Array = npt.NDArray[np.float64]


class Stepper:
    """Advances a :class:`State` by the compiled code of a mechanism.

    pool  threads that help with steps, None for one thread; what else is put there is done beside the steps

    ghosts          mixing ratios (species, level) [mol/mol] outside the area, the same all around
    top             mixing ratios (species,) above it
    density_factor  (level, lat) relative air density per mole of air in a cell [1/mol]
    vertical_weights (level, 4) parabola weights of each upper face for upward and for downward flow
    neighbours      what lies beyond the sides where the area goes on; None where it ends on all of them
    total           sums over the first axis of the sums of blocks, of all ranks; the same bits in any order
    state           that of another stepper, to be advanced by both in turn; None for one of its own
    """

    def __init__(
        self, kernel: MechanismKernel, layout: Layout, *, ghosts: Array, top: Array, density_factor: Array,
        vertical_weights: Array, deposited: Sequence[int] = (), emitted: Sequence[int] = (), sweeps: int = 1,
        threads: int = 1, oxygen: float = 0.2095, nitrogen: float = 0.7808, neighbours: Neighbours | None = None,
        total: Callable[[Array], Array] | None = None, state: State | None = None,
    ) -> None:  # fmt: skip
        self.kernel, self.layout, self.sweeps, self.neighbours = kernel, layout, sweeps, neighbours
        self._total = total or CompiledSums(kernel).total
        species, levels = len(kernel.network.species), kernel.shape.levels
        self.state = state or State.zeros(layout, species, levels)
        self._terms = (len(TERMS), species) if kernel.shape.vertical else (len(OF_PLANES), species, levels)
        sums = prod(self._terms) + len(kernel.shape.families)
        self._sums = np.zeros((layout.rows * layout.blocks, sums))
        self._sums_before = np.zeros_like(self._sums)
        self._totals = np.zeros(sums)
        self._seconds = np.zeros((layout.rows * layout.blocks, len(PARTS)))
        self.threads = max(1, min(threads, layout.rows))
        self.pool = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None
        size = kernel.functions.airshed_worker_bytes(layout.blocks)
        self._memory = [aligned_zeros((size,), np.uint8) for _ in range(self.threads)]
        beyond: Mapping[Side, tuple[AnyArray, ...]] = {} if neighbours is None else neighbours.beyond
        open_to = Open(**{side: side in beyond for side in SIDES})
        self._inner, self._outer = cut(layout.rows, layout.blocks, self.threads, open_to)
        self._places = StepPlaces(
            layout, beyond, self._seconds, ghosts=ghosts, top=top, density_factor=density_factor,
            vertical_weights=vertical_weights, deposited=deposited, emitted=emitted, oxygen=oxygen, nitrogen=nitrogen,
        )  # fmt: skip

    def step(
        self, weights: TwoStepWeights, transport: TransportForcing, column: ColumnForcing | None
    ) -> npt.NDArray[np.float64]:
        """Advance the state from n to n+1; return the sums of the budget terms (term, species), see TERMS.

        column  None where the kernel has no vertical part; the sums are then (term, species, level).
        """
        self._totals = self._total(self.advance(weights, transport, column))
        return self.by_term(self._totals)[0]

    def advance(self, weights: TwoStepWeights, transport: TransportForcing, column: ColumnForcing | None) -> Array:
        """Advance the state from n to n+1; return what is to be summed up, (block, sum), see :meth:`by_term`.

        The array stays as it is during one more step.
        """
        self._sums, self._sums_before = self._sums_before, self._sums
        self._places.fill(self.state, weights, transport, column, self._sums, self.sweeps)
        if self.neighbours is None:
            self._work(self._inner)
        else:
            self.neighbours.start(self.state.q)
            self._work(self._inner, between=self.neighbours.progress)
            self.neighbours.finish()
            self._places.look_beyond(self.neighbours.turn)
            self._work(self._outer)
        self.state.rotate()
        return self._sums

    def by_term(self, totals: Array) -> tuple[Array, Array]:
        """Return the sums (sum,) of a step as those of the budget terms (term, species), and of the families."""
        count = prod(self._terms)
        found, families = totals[:count].reshape(self._terms), totals[count:]
        if self.kernel.shape.vertical:
            return found, families
        terms = np.zeros((len(TERMS), *self._terms[1:]))
        terms[list(OF_PLANES)] = found
        return terms, families

    def _work(self, pieces: Pieces, between: Callable[[], None] | None = None) -> None:
        """Compute pieces on all threads; this one calls `between` after each of its own."""
        taken, functions = np.zeros(1, np.int64), self.kernel.functions
        share = self._places.address, address(pieces), len(pieces), address(taken)
        others = [] if self.pool is None or len(pieces) < 2 else self._memory[1:]
        jobs = [self._submit(*share, _ALL, address(memory)) for memory in others]
        most = _ALL if between is None else 1
        try:
            while functions.airshed_share_pieces(*share, most, address(self._memory[0])):
                assert between is not None
                between()
        finally:  # also after Ctrl-C: what threads look at must not go before they are done
            for job in jobs:
                if not job.cancel():  # a thread that was busy with something else all the time has nothing left to do
                    job.result()

    def _submit(self, *share: int) -> "Future[int]":
        assert self.pool is not None
        return self.pool.submit(self.kernel.functions.airshed_share_pieces, *share)

    @property
    def imbalance(self) -> Array:
        """Atoms of each family that unbalanced reactions made in the last step [mol/s]."""
        return self.by_term(self._totals)[1]

    @property
    def seconds(self) -> dict[str, float]:
        """Time that the threads have spent in each part of the step, added up over threads [s]."""
        return dict(zip(PARTS, self._seconds.sum(axis=0).tolist(), strict=True))

    def close(self) -> None:
        """End the threads and the exchange with neighbours."""
        if self.neighbours is not None:
            self.neighbours.close()
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)
