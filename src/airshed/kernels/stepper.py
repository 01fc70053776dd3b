"""One time step of every column on threads: owns the state's arrays and calls the compiled code over ranges of rows."""

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from airshed.kernels.layout import AnyArray, Layout, aligned_zeros
from airshed.kernels.pipeline import MechanismKernel
from airshed.kernels.step_arguments import PARTS, TERMS, Ends, Ghost, Step, address

LEAST_ROWS = 2
"""Rows of the smallest piece of a step; each piece computes one row of faces twice."""

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


def shares(rows: int, threads: int) -> list[tuple[int, int]]:
    """Return the pieces of a step's rows that threads take as they are free: large ones first, small ones to even out.

    Each piece is a share of what is left, rows left / (1.5 threads), so that few pieces (each costs a row of faces)
    leave nobody waiting long at the end.
    """
    cuts = [0]
    while cuts[-1] < rows:
        left = rows - cuts[-1]
        cuts.append(cuts[-1] + min(left, max(LEAST_ROWS, round(left / (1.5 * threads)))))
    return list(pairwise(cuts))


class Stepper:
    """Advances a :class:`State` by the compiled code of a mechanism.

    pool  threads that help with steps, None for one thread; what else is put there is done beside the steps

    ghosts          mixing ratios (species, level) [mol/mol] outside the area, the same all around
    top             mixing ratios (species,) above it
    density_factor  (level, lat) relative air density per mole of air in a cell [1/mol]
    vertical_weights (level, 4) parabola weights of each upper face for upward and for downward flow
    """

    def __init__(
        self, kernel: MechanismKernel, layout: Layout, *, ghosts: npt.NDArray[np.float64], top: npt.NDArray[np.float64],
        density_factor: npt.NDArray[np.float64], vertical_weights: npt.NDArray[np.float64],
        deposited: Sequence[int] = (), emitted: Sequence[int] = (), sweeps: int = 1, threads: int = 1,
        oxygen: float = 0.2095, nitrogen: float = 0.7808,
    ) -> None:  # fmt: skip
        self.kernel, self.layout, self.sweeps = kernel, layout, sweeps
        species, levels = len(kernel.network.species), kernel.shape.levels
        self.state = State.zeros(layout, species, levels)
        self.sums = np.zeros((layout.rows, len(TERMS), species))
        self._imbalance = np.zeros((layout.rows, len(kernel.shape.families)))
        self._seconds = np.zeros((layout.rows, len(PARTS)))
        self.threads = max(1, min(threads, layout.rows))
        self.pool = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None
        size = kernel.functions.airshed_worker_bytes(layout.blocks)
        self._memory = [aligned_zeros((size,), np.uint8) for _ in range(self.threads)]
        self._pieces = np.array(shares(layout.rows, self.threads), np.int64)
        self._constants = {
            "ghost": self._splat(ghosts),
            "top": top.astype(layout.dtype),
            "vertical_weights": np.ascontiguousarray(vertical_weights, layout.dtype),
            "density_factor": np.ascontiguousarray(density_factor.T, np.float64),
            "deposited": np.asarray(deposited, np.int32),
            "emitted": np.asarray(emitted, np.int32),
        }
        self._step = self._constant_arguments(oxygen, nitrogen)
        self._placed: dict[str, Pair] = {}

    def step(
        self, weights: TwoStepWeights, transport: TransportForcing, column: ColumnForcing
    ) -> npt.NDArray[np.float64]:
        """Advance the state from n to n+1; return the sums of the budget terms (term, species), see TERMS."""
        self._fill(weights, transport, column)
        pointer = ctypes.addressof(self._step)
        functions = self.kernel.functions
        if self.pool is None:
            functions.airshed_step_rows(pointer, 0, self.layout.rows, address(self._memory[0]))
        else:
            taken = np.zeros(1, np.int64)
            pieces = address(self._pieces), len(self._pieces), address(taken)
            own, *others = [(pointer, *pieces, address(memory)) for memory in self._memory]
            jobs = [self.pool.submit(functions.airshed_share_rows, *share) for share in others]
            functions.airshed_share_rows(*own)
            for job in jobs:
                if not job.cancel():  # a thread that was busy with something else all the time has nothing left to do
                    job.result()
        self.state.rotate()
        return np.asarray(self.sums.sum(axis=0))

    @property
    def imbalance(self) -> npt.NDArray[np.float64]:
        """Atoms of each family that unbalanced reactions made in the last step [mol/s]."""
        return np.asarray(self._imbalance.sum(axis=0))

    @property
    def seconds(self) -> dict[str, float]:
        """Time that the threads have spent in each part of the step, added up over threads [s]."""
        return dict(zip(PARTS, self._seconds.sum(axis=0).tolist(), strict=True))

    def close(self) -> None:
        """End the threads."""
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def _splat(self, values: npt.NDArray[np.float64]) -> AnyArray:
        block = aligned_zeros((*values.shape, self.layout.width), self.layout.dtype)
        block[...] = values[..., None]
        return block

    def _constant_arguments(self, oxygen: float, nitrogen: float) -> Step:
        constants, layout = self._constants, self.layout
        step = Step(rows=layout.rows, blocks=layout.blocks, last_lanes=layout.last_lanes)
        for side in ("west", "east", "south", "north"):
            setattr(step, side, Ghost(address(constants["ghost"]), 0, 0))
        for name in ("top", "vertical_weights", "density_factor", "deposited", "emitted"):
            setattr(step, name, address(constants[name]))
        step.deposited_count, step.emitted_count = len(constants["deposited"]), len(constants["emitted"])
        step.oxygen, step.nitrogen = oxygen, nitrogen
        step.sums, step.imbalance, step.seconds = map(address, (self.sums, self._imbalance, self._seconds))
        return step

    def _fill(self, weights: TwoStepWeights, transport: TransportForcing, column: ColumnForcing) -> None:
        """Tell the kernel where everything lies."""
        step, state = self._step, self.state
        for name in ("q", "q_other", "tendency", "air", "air_other", "air_tendency"):
            setattr(step, name, address(getattr(state, name)))
        for name in ("flux_x", "flux_y", "flux_z"):
            self._place(name, getattr(transport, name))
        step.flux_weight, step.flux_z_weight = transport.weight, transport.weight_z
        for name in ("temperature", "water", "exchange", "deposition"):
            self._place(name, getattr(column, name))
        if column.parameters is not None:
            self._place("parameters", column.parameters)
        step.column_weight = column.weight
        step.emission, step.emission_levels = address(column.emission), column.emission.shape[-2]
        step.photolysis_sun = address(column.sun)
        for name in ("c0", "c1", "t0", "t1", "g", "s0", "s1"):
            setattr(step, name, getattr(weights, name))
        step.sweeps = self.sweeps

    def _place(self, name: str, pair: Pair) -> None:
        """Tell where a field lies, where it does not lie at the place of the last step."""
        start, end = self._placed.get(name, (None, None))
        if start is not pair[0] or end is not pair[1]:
            setattr(self._step, name, Ends(*map(address, pair)))
            self._placed[name] = pair
