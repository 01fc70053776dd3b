"""One time step of every column on threads: owns the state's arrays and calls the compiled code over ranges of rows."""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.kernels.exact_sum import CompiledSums
from airshed.kernels.layout import AnyArray, Layout, aligned_zeros
from airshed.kernels.pieces import SIDES, Open, Pieces, Side, cut
from airshed.kernels.pipeline import MechanismKernel
from airshed.kernels.step_arguments import (
    FLUX_WEIGHTS,
    OF_PLANES,
    PARTS,
    STATE,
    TERMS,
    WEIGHTS,
    Ends,
    Ghost,
    Step,
    address,
)

_ALL: Final = 2**62
"""More pieces than any step has."""

Array = npt.NDArray[np.float64]

Pair = tuple[AnyArray, AnyArray]
"""A packed field at the two ends of a forcing interval."""


@dataclass(frozen=True)
class TwoStepWeights:
    """A(n+1) q(n+1) = c0 A(n) q(n) + c1 A(n-1) q(n-1) + t0 T(n) + t1 T(n-1) + g [column terms at n+1].

    s0, s1: the iteration for q(n+1) starts at s0 q(n) + s1 q(n-1).
    """

    c0: float
    c1: float
    t0: float
    t1: float
    g: float
    s0: float
    s1: float


@dataclass(frozen=True)
class TransportForcing:
    """Packed air fluxes [mol/s] around the instant n, and where n lies between their ends (0..1)."""

    flux_x: Pair
    flux_y: Pair
    flux_z: Pair
    weight: float
    weight_z: float


@dataclass(frozen=True)
class ColumnForcing:
    """Packed fields around the instant n+1, and where it lies between their ends (0..1).

    temperature [K], water [mol/mol], exchange [mol/s] through upper faces, deposition [mol/s] (deposited species),
    emission [mol/s] (emitted species, lowest levels), sun: secant of the zenith angle and light factor of each column,
    parameters: what the mechanism leaves open [molecules, cm3, s], (parameter, level); None where there is nothing.
    """

    temperature: Pair
    water: Pair
    exchange: Pair
    deposition: Pair
    weight: float
    emission: AnyArray
    sun: AnyArray
    parameters: Pair | None = None


@dataclass
class State:
    """The packed state of a run: two time levels of mixing ratios and air, and the newest transport tendencies.

    q, q_other          [mol/mol] level n and n-1, [lat][block][species][level][W]
    tendency            [mol/s] transport of level n-1, the same shape
    air, air_other      [mol] air in each cell, [lat][block][level][W];  air_tendency [mol/s]
    """

    q: AnyArray
    q_other: AnyArray
    tendency: AnyArray
    air: AnyArray
    air_other: AnyArray
    air_tendency: AnyArray

    @classmethod
    def zeros(cls, layout: Layout, species: int, levels: int) -> "State":
        """Return an empty state."""
        chemical = [layout.zeros(species, levels) for _ in range(3)]
        air = [layout.zeros(levels) for _ in range(3)]
        return cls(*chemical, *air)

    def rotate(self) -> None:
        """Make the level just computed the newest."""
        self.q, self.q_other = self.q_other, self.q
        self.air, self.air_other = self.air_other, self.air


class Neighbours(Protocol):
    """Brings what neighbours hold along the open sides of the state; see ``parallel.halo``.

    beyond  by side, none at an edge of the area, one array or several that take turns:
            west, east    packs (row, species, level, W)
            south, north  two rows (2, block, species, level, W), rising as in the grid
    turn    which one is the newest, of those that take turns
    """

    @property
    def beyond(self) -> Mapping[Side, tuple[AnyArray, ...]]:
        """See above."""
        ...

    @property
    def turn(self) -> int:
        """See above."""
        ...

    def start(self, q: AnyArray) -> None:
        """Begin to exchange the edges of the mixing ratios, which stay as they are until :meth:`finish`."""
        ...

    def progress(self) -> None:
        """See to messages under way."""
        ...

    def finish(self) -> None:
        """Return when the neighbours' edges are here."""
        ...

    def close(self) -> None:
        """Give free what the exchange holds."""
        ...


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
        self, kernel: MechanismKernel, layout: Layout, *, ghosts: npt.NDArray[np.float64], top: npt.NDArray[np.float64],
        density_factor: npt.NDArray[np.float64], vertical_weights: npt.NDArray[np.float64],
        deposited: Sequence[int] = (), emitted: Sequence[int] = (), sweeps: int = 1, threads: int = 1,
        oxygen: float = 0.2095, nitrogen: float = 0.7808, neighbours: Neighbours | None = None,
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
        self._constants = {
            "ghost": self._splat(ghosts),
            "top": top.astype(layout.dtype),
            "vertical_weights": np.ascontiguousarray(vertical_weights, layout.dtype),
            "density_factor": np.ascontiguousarray(density_factor.T, np.float64),
            "deposited": np.asarray(deposited, np.int32),
            "emitted": np.asarray(emitted, np.int32),
        }
        self._beyond = {side: [_beside(each, side) for each in edges] for side, edges in beyond.items()}
        self._step = self._constant_arguments(oxygen, nitrogen)
        memory = memoryview(self._step).cast("B")
        self._words, self._numbers = np.frombuffer(memory, np.uint64), np.frombuffer(memory, np.float64)
        self._addresses: dict[int, tuple[AnyArray, int]] = {}
        self._placed: dict[str, Pair] = {}

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
        self._fill(weights, transport, column)
        if self.neighbours is None:
            self._work(self._inner)
        else:
            self.neighbours.start(self.state.q)
            self._work(self._inner, between=self.neighbours.progress)
            self.neighbours.finish()
            self._look_beyond(self.neighbours.turn)
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
        share = ctypes.addressof(self._step), address(pieces), len(pieces), address(taken)
        others = [] if self.pool is None or len(pieces) < 2 else self._memory[1:]
        jobs = [self._submit(*share, _ALL, address(memory)) for memory in others]
        most = _ALL if between is None else 1
        while functions.airshed_share_pieces(*share, most, address(self._memory[0])):
            assert between is not None
            between()
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

    def _splat(self, values: npt.NDArray[np.float64]) -> AnyArray:
        block = aligned_zeros((*values.shape, self.layout.width), self.layout.dtype)
        block[...] = values[..., None]
        return block

    def _look_beyond(self, turn: int) -> None:
        """Tell the kernel where the newest edges of neighbours lie."""
        for side, places in self._beyond.items():
            setattr(self._step, side, places[turn % len(places)])

    def _constant_arguments(self, oxygen: float, nitrogen: float) -> Step:
        constants, layout = self._constants, self.layout
        step = Step(rows=layout.rows, blocks=layout.blocks, last_lanes=layout.last_lanes)
        for side in SIDES:
            setattr(step, side, self._beyond[side][0] if side in self._beyond else _outside(constants["ghost"]))
        for name in ("top", "vertical_weights", "density_factor", "deposited", "emitted"):
            setattr(step, name, address(constants[name]))
        step.deposited_count, step.emitted_count = len(constants["deposited"]), len(constants["emitted"])
        step.oxygen, step.nitrogen = oxygen, nitrogen
        step.seconds = address(self._seconds)
        return step

    def _fill(self, weights: TwoStepWeights, transport: TransportForcing, column: ColumnForcing | None) -> None:
        """Tell the kernel where everything lies."""
        step, state = self._step, self.state
        parts = state.q, state.q_other, state.tendency, state.air, state.air_other, state.air_tendency
        self._words[STATE] = [self._address_of(each) for each in parts]
        self._place("flux_x", transport.flux_x)
        self._place("flux_y", transport.flux_y)
        self._place("flux_z", transport.flux_z)
        self._numbers[FLUX_WEIGHTS] = transport.weight, transport.weight_z
        if column is not None:
            self._fill_column(column)
        w = weights
        self._numbers[WEIGHTS] = w.c0, w.c1, w.t0, w.t1, w.g, w.s0, w.s1
        step.sums = self._address_of(self._sums)
        step.sweeps, step.number = self.sweeps, step.number + 1

    def _fill_column(self, column: ColumnForcing) -> None:
        step = self._step
        self._place("temperature", column.temperature)
        self._place("water", column.water)
        self._place("exchange", column.exchange)
        self._place("deposition", column.deposition)
        if column.parameters is not None:
            self._place("parameters", column.parameters)
        step.column_weight = column.weight
        step.emission, step.emission_levels = address(column.emission), column.emission.shape[-2]
        step.photolysis_sun = address(column.sun)

    def _address_of(self, array: AnyArray) -> int:
        """The address of an array that is there as long as this is: asked for once."""
        found = self._addresses.get(id(array))
        if found is None:
            found = self._addresses[id(array)] = array, address(array)
        return found[1]

    def _place(self, name: str, pair: Pair) -> None:
        """Tell where a field lies, where it does not lie at the place of the last step."""
        start, end = self._placed.get(name, (None, None))
        if start is not pair[0] or end is not pair[1]:
            setattr(self._step, name, Ends(*map(address, pair)))
            self._placed[name] = pair


def _outside(ghost: AnyArray) -> Ghost:
    """The same air along the whole edge."""
    return Ghost(address(ghost), 0, 0, 0, 1)


def _beside(buffer: AnyArray, side: Side) -> Ghost:
    """The neighbour's packs, which lie one after the other."""
    pack = int(np.prod(buffer.shape[-3:]))
    if side in ("west", "east"):
        return Ghost(address(buffer), pack, 0, 0, 0)
    row = pack * buffer.shape[1]
    return Ghost(address(buffer[1]), 0, pack, -row, 0) if side == "south" else Ghost(address(buffer), 0, pack, row, 0)
