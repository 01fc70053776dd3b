"""Cost of a step on a number of ranks, by constants that are fitted to measured runs.

The busiest rank has n cells in m columns and sends k messages of b bytes in total. A step takes

  T = f(P) [ (a n + a' m) + (c + c' m) ] + (h k + h' b) + (s + s' log2 P)
             compute         control         halo          sums

with f(P) = 1 + spread sqrt(2 ln P), the greatest of P numbers with the standard deviation `spread`. All constants
except the spread are non-negative least-squares fits to the measured times of each part, by relative error.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log, log2, sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray

from airshed.kernels.step.arguments import REACH, SIDES
from airshed.parallel.decomposition import Decomposition

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Load:
    """Cells and messages of the busiest rank of a decomposition in a step."""

    ranks: int
    columns: int
    levels: int
    messages: int
    bytes: int

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.columns * self.levels

    @classmethod
    def of(cls, cut: Decomposition, levels: int, species: int, itemsize: int = 8) -> Self:
        """Return the load of a decomposition: the greatest of each number over the ranks."""
        columns = messages = volume = 0
        for tile in cut.tiles():
            rows, across = tile.window.shape
            open_to = [side for side in SIDES if cut.neighbour(tile.rank, side) is not None]
            halo = sum(across if side in ("south", "north") else rows for side in open_to) * REACH
            columns, messages = max(columns, rows * across), max(messages, len(open_to))
            volume = max(volume, halo * levels * species * itemsize)
        return cls(cut.ranks, columns, levels, messages, volume)


@dataclass(frozen=True)
class Parts:
    """Wall time of a step by parts [s]."""

    compute: float
    control: float
    halo: float
    sums: float
    imbalance: float = 0.0

    @property
    def total(self) -> float:
        """Total time of the step."""
        return self.compute + self.control + self.halo + self.sums + self.imbalance


@dataclass(frozen=True)
class MeasuredPoint:
    """A measured point: the load, and the cost of each part without waiting; imbalance is that of computation [1]."""

    load: Load
    compute: float
    control: float
    halo: float
    sums: float
    imbalance: float


@dataclass(frozen=True)
class Machine:
    """Constants of the model [s]: a, a'; c, c'; h, h'; s, s'; and the spread [1]."""

    cell: float
    column: float
    control: float
    control_column: float
    message: float
    byte: float
    sums: float
    sums_round: float
    spread: float

    @classmethod
    def fitted(cls, points: Sequence[MeasuredPoint]) -> Self:
        """Return the best fit to measured points; constants that no point determines are 0."""
        shared = [point for point in points if point.load.ranks > 1]
        cell, column = fit([(p.load.cells, p.load.columns) for p in points], [p.compute for p in points])
        control, control_column = fit([(1.0, p.load.columns) for p in points], [p.control for p in points])
        waiting = [point for point in shared if point.halo > 0.0]  # some ranks do not wait at all
        message, byte = fit([(p.load.messages, p.load.bytes) for p in waiting], [p.halo for p in waiting])
        sums, rounds = fit([(1.0, log2(p.load.ranks)) for p in shared], [p.sums for p in shared])
        spreads = [p.imbalance / extreme(p.load.ranks) for p in shared]
        return cls(
            cell, column, control, control_column, message, byte, sums, rounds,
            float(np.median(spreads)) if spreads else 0.0,
        )  # fmt: skip

    def step(self, load: Load) -> Parts:
        """Return the times of a step with one rank on each core of a machine."""
        compute = self.cell * load.cells + self.column * load.columns
        control = self.control + self.control_column * load.columns
        imbalance = self.spread * extreme(load.ranks) * (compute + control)
        if load.ranks == 1:
            return Parts(compute, control, 0.0, 0.0)
        halo = self.message * load.messages + self.byte * load.bytes
        return Parts(compute, control, halo, self.sums + self.sums_round * log2(load.ranks), imbalance)


def extreme(ranks: int) -> float:
    """Return the expected maximum of normal numbers above their mean, in standard deviations: sqrt(2 ln P)."""
    return sqrt(2.0 * log(ranks))


def fit(features: Sequence[Sequence[float]], times: Sequence[float]) -> tuple[float, ...]:
    """Return the constants >= 0 that fit the times best, by relative error.

    A constant that would be negative is 0 in the best fit, so all subsets are tried.
    """
    count = len(features[0]) if features else 2
    best, least = np.zeros(count), np.inf
    if not features:
        return tuple(best.tolist())
    matrix, target = np.array(features, float) / np.array(times)[:, None], np.ones(len(times))
    for size in range(1, count + 1):
        for chosen in combinations(range(count), size):
            solution, *_ = np.linalg.lstsq(matrix[:, chosen], target, rcond=None)
            error = float(np.sum((matrix[:, chosen] @ solution - target) ** 2))
            if solution.min() >= 0.0 and error < least - 1e-15:
                best, least = np.zeros(count), error
                best[list(chosen)] = solution
    return tuple(best.tolist())
