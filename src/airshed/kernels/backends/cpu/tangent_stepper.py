"""Advances a state and its changes: the tangent-linear model of one step after the other."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from airshed.kernels.backends.cpu.pieces import Open, cut
from airshed.kernels.backends.cpu.tangent_kernel import TangentKernel
from airshed.kernels.backends.cpu.tangent_table import TangentTable
from airshed.kernels.backends.cpu.work_sharing import WorkSharing
from airshed.kernels.boundary import empty_edges, fetch, sides_of
from airshed.kernels.host import aligned_zeros
from airshed.kernels.layout import Layout, MechanismShape
from airshed.kernels.step.data import SIDES, State, StateAndChanges, StepChanges, StepConstants, StepForcing, Swap


class TangentStepper:
    """Advances a state and its changes, see :class:`airshed.kernels.derivatives.TangentStepper`.

    The parameters are those of :meth:`airshed.kernels.derivatives.TangentKernel.stepper`.
    """

    def __init__(
        self, kernel: TangentKernel, layout: Layout, constants: StepConstants, *, threads: int = 1,
        states: StateAndChanges | None = None, swap: Swap | None = None,
    ) -> None:  # fmt: skip
        self.kernel, self.layout, self._sweeps = kernel, layout, constants.sweeps
        shape, network = kernel.shape, kernel.network
        species, levels = len(network.species), shape.levels
        self.states = states or StateAndChanges.zeros(layout, species, levels)
        self._swap, sides = swap, sides_of(swap)
        self._edges = empty_edges(layout, (species, levels, 2), sides)
        self._table = TangentTable(layout, sides, constants, shape.operators, network, levels)
        self._sums: npt.NDArray[np.float64] = aligned_zeros(
            (layout.rows * layout.blocks, _sums(shape, species)), np.float64
        ).view(np.float64)
        threads = max(1, min(threads, layout.rows))
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        pieces = cut(layout.rows, layout.blocks, threads, Open(**{side: side in sides for side in SIDES}))
        self._work = WorkSharing(kernel, self._table, pieces, layout.blocks, threads=threads, pool=self._pool)

    @property
    def state(self) -> State:
        """The state."""
        return self.states.state

    @property
    def changes(self) -> State:
        """The changes of its mixing ratios and tendencies."""
        return self.states.changes

    def step(self, forcing: StepForcing, changes: StepChanges | None = None) -> None:
        """Advance state and changes from n to n+1."""
        changes = changes or StepChanges()
        self._table.set_changes(changes)
        both = self._table.both(forcing, changes)
        fetch(self._swap, self.states.both.q, self._edges)
        self._table.fill(self._work.steps + 1, self.states.both, both, self._edges, self._sums, self._sweeps)
        self.states.rotate()
        self._work.work(1)

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _sums(shape: MechanismShape, species: int) -> int:
    """Return how many sums a block has: `SUMS` of ``step/layout.hpp``, without families."""
    return (4 + len(shape.own_terms)) * species if shape.vertical else 3 * species * shape.levels
