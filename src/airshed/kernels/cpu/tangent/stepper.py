"""Advances a state and its changes: the tangent-linear model of one step after the other."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from airshed.kernels.cpu.pieces import Open, cut
from airshed.kernels.cpu.tangent.argument_table import CHANGE, VALUE, TangentTable
from airshed.kernels.cpu.tangent.pipeline import TangentKernel
from airshed.kernels.cpu.work_sharing import WorkSharing
from airshed.kernels.layout import Layout
from airshed.kernels.memory import aligned_zeros
from airshed.kernels.step.data import State, StepChanges, StepConstants, StepForcing
from airshed.kernels.step.shape import MechanismShape


class TangentStepper:
    """Advances a state and its changes, see :class:`airshed.kernels.derivatives.TangentStepper`.

    `both` has values and changes in one memory, [lat][block][species][level][2][W]; `state` and `changes` are views of
    it. The air has no changes.
    """

    def __init__(self, kernel: TangentKernel, layout: Layout, constants: StepConstants, *, threads: int = 1) -> None:
        self.kernel, self.layout, self._sweeps = kernel, layout, constants.sweeps
        shape, network = kernel.shape, kernel.network
        species, levels = len(network.species), shape.levels
        chemical, air = [layout.zeros(species, levels, 2) for _ in range(3)], [layout.zeros(levels) for _ in range(3)]
        self.both = State(*chemical, *air)
        none = np.broadcast_to(air[0].dtype.type(0.0), air[0].shape)
        self.state = State(*(each[..., VALUE, :] for each in chemical), *air)
        self.changes = State(*(each[..., CHANGE, :] for each in chemical), *[none] * 3)
        self._table = TangentTable(layout, constants, shape.operators, network, levels)
        self._sums: npt.NDArray[np.float64] = aligned_zeros(
            (layout.rows * layout.blocks, _sums(shape, species)), np.float64
        ).view(np.float64)
        threads = max(1, min(threads, layout.rows))
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        pieces = cut(layout.rows, layout.blocks, threads, Open())
        self._work = WorkSharing(kernel, self._table, pieces, layout.blocks, threads=threads, pool=self._pool)

    def step(self, forcing: StepForcing, changes: StepChanges | None = None) -> None:
        """Advance state and changes from n to n+1."""
        changes = changes or StepChanges()
        self._table.set_changes(changes)
        both = self._table.both(forcing, changes)
        self._table.fill(self._work.steps + 1, self.both, both, {}, self._sums, self._sweeps)
        for each in (self.both, self.state, self.changes):
            each.rotate()
        self._work.work(1)

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _sums(shape: MechanismShape, species: int) -> int:
    """Return how many sums a block has: `SUMS` of ``cpu/layout.hpp``, without families."""
    return (4 + len(shape.own_terms)) * species if shape.vertical else 3 * species * shape.levels
