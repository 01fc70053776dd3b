"""Time steps of every column, one or several at once: they are prepared here, and computed by a crew of threads."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod

import numpy as np
import numpy.typing as npt

from airshed.kernels.crew import Crew
from airshed.kernels.exact_sum import CompiledSums
from airshed.kernels.layout import AnyArray, Layout
from airshed.kernels.pieces import SIDES, Open, Pieces, Side, cut
from airshed.kernels.pipeline import MechanismKernel
from airshed.kernels.step_arguments import OF_PLANES, PARTS, address
from airshed.kernels.step_data import (
    ColumnForcing,
    Near,
    Neighbours,
    State,
    StepForcing,
    TransportForcing,
    TwoStepWeights,
)
from airshed.kernels.step_places import StepPlaces

Array = npt.NDArray[np.float64]


class Stepper:
    """Advances a :class:`State` by the compiled code of a mechanism.

    pool  threads that help with steps, None for one thread; what else is put there is done beside the steps

    ghosts          mixing ratios (species, level) [mol/mol] outside the area, the same all around
    top             mixing ratios (species,) above it
    density_factor  (level, lat) relative air density per mole of air in a cell [1/mol]
    vertical_weights (level, 4) parabola weights of each upper face for upward and for downward flow
    thickness       (level,) [m] of layers, for operators that ask for it; None for 1
    neighbours      what lies beyond the sides where the area goes on; None where it ends on all of them
    total           sums over the first axis of the sums of blocks, of all ranks; the same bits in any order
    state           that of another stepper, to be advanced by both in turn; None for one of its own
    at_once, kept   how many steps :meth:`advance` may be asked for; how many calls what it returns stays as it is
    """

    def __init__(
        self, kernel: MechanismKernel, layout: Layout, *, ghosts: Array, top: Array, density_factor: Array,
        vertical_weights: Array, thickness: Array | None = None, emitted: Sequence[int] = (), sweeps: int = 1,
        threads: int = 1, oxygen: float = 0.2095, nitrogen: float = 0.7808, neighbours: Neighbours | None = None,
        total: Callable[[Array], Array] | None = None, state: State | None = None, at_once: int = 1, kept: int = 1,
    ) -> None:  # fmt: skip
        self.kernel, self.layout, self.sweeps, self.neighbours = kernel, layout, sweeps, neighbours
        self.at_once = at_once
        self._total = total or CompiledSums(kernel).total
        species, levels = len(kernel.network.species), kernel.shape.levels
        self.state = state or State.zeros(layout, species, levels)
        self._terms = (len(kernel.terms), species) if kernel.shape.vertical else (len(OF_PLANES), species, levels)
        sums = prod(self._terms) + len(kernel.shape.families)
        shape = (kept, at_once, layout.rows * layout.blocks, sums)
        self._sums: Array = layout.memory.zeros(shape, np.float64).view(np.float64)
        self._totals = np.zeros(sums)
        self.threads = max(1, min(threads, layout.rows))
        self.pool = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None
        sides: Collection[Side] = () if neighbours is None else neighbours.sides
        beyond: Mapping[Side, AnyArray] = {} if neighbours is None else neighbours.beyond
        self._places = StepPlaces(
            layout, at_once, beyond, ghosts=ghosts, top=top, density_factor=density_factor,
            vertical_weights=vertical_weights, thickness=np.ones(levels) if thickness is None else thickness,
            emitted=emitted, oxygen=oxygen, nitrogen=nitrogen, number=0 if neighbours is None else neighbours.number,
            operators=kernel.shape.operators, levels=levels,
        )  # fmt: skip
        inner, outer = cut(layout.rows, layout.blocks, self.threads, Open(**{side: side in sides for side in SIDES}))
        pieces: Pieces = layout.memory.zeros((len(inner) + len(outer), 4), np.int64).view(np.int64)
        pieces[...] = np.concatenate([inner, outer])
        self.crew = Crew(
            kernel, self._places.address, at_once, pieces, len(inner),
            layout.blocks if neighbours is None else neighbours.blocks, threads=self.threads, pool=self.pool,
            room=None if neighbours is None else neighbours.room, messages=bool(beyond),
        )  # fmt: skip
        self._turn, self._arrived = 0, True
        self._between: Callable[[], None] | None = None
        if neighbours is not None:
            self._between = self._see_to_messages
            self._meet(neighbours)

    def _meet(self, neighbours: Neighbours) -> None:
        states = address(self.state.q), address(self.state.q_other)
        near = neighbours.meet(Near(self.crew.address, states, self.layout.rows, self.layout.blocks))
        self.crew.meet(near)
        self._places.look_at(near, self.state)

    def step(
        self, weights: TwoStepWeights, transport: TransportForcing, column: ColumnForcing | None
    ) -> npt.NDArray[np.float64]:
        """Advance the state from n to n+1; return the sums of the budget terms (term, species), see `kernel.terms`.

        column  None where the kernel has no vertical part; the sums are then (term, species, level).
        """
        self._totals = self._total(self.advance([StepForcing(weights, transport, column)])[0])
        return self.by_term(self._totals)[0]

    def advance(self, steps: Sequence[StepForcing]) -> Array:
        """Advance the state by one step, or by `at_once` at most; return what is to be summed up, (step, block, sum).

        See :meth:`by_term`. The array stays as it is until this is called as often again as is kept.
        """
        self._turn, neighbours, q = (self._turn + 1) % len(self._sums), self.neighbours, self.state.q
        sums, first = self._sums[self._turn, : len(steps)], self.crew.steps + 1
        for number, each in enumerate(steps):
            self._places.fill(first + number, self.state, each, sums[number], self.sweeps)
            self.state.rotate()
        if neighbours is not None and neighbours.beyond:
            neighbours.start(q)
            self._arrived = False
        self.crew.publish(len(steps))
        self.crew.work(self._between)
        return sums

    def leave(self) -> None:
        """Return when no neighbour looks at this state any more, so that both its time levels may be changed."""
        self.crew.leave(self._between)

    def _see_to_messages(self) -> None:
        """Let MPI see to messages, and the step look at those of its neighbours when they are here."""
        assert self.neighbours is not None
        if self._arrived:
            self.neighbours.progress()
        elif self.neighbours.arrived():
            self._arrived = True
            self.crew.messages_are_here()

    def by_term(self, totals: Array) -> tuple[Array, Array]:
        """Return the sums (sum,) of a step as those of the budget terms (term, species), and of the families."""
        count = prod(self._terms)
        found, families = totals[:count].reshape(self._terms), totals[count:]
        if self.kernel.shape.vertical:
            return found, families
        terms = np.zeros((len(self.kernel.terms), *self._terms[1:]))
        terms[list(OF_PLANES)] = found
        return terms, families

    @property
    def imbalance(self) -> Array:
        """Atoms of each family that unbalanced reactions made in the last step [mol/s]."""
        return self.by_term(self._totals)[1]

    @property
    def seconds(self) -> dict[str, float]:
        """Time that the threads have spent in each part of the step, added up over threads [s]."""
        return dict(zip(PARTS, self.crew.seconds.tolist(), strict=True))

    def close(self) -> None:
        """End the threads and the exchange with neighbours."""
        if self.neighbours is not None:
            self.neighbours.close()
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)
