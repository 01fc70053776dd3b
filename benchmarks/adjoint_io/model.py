"""What checkpoints cost on any number of ranks: a few numbers that measured gradients determine, and what follows.

To keep a level of b bytes of a rank and to read it again takes, beside what it takes in memory,

    t = (alpha + beta b) max(1, P / cores)

with all ranks at work at once; where there are more ranks than cores, they take turns. alpha and beta are fitted as
the numbers of :mod:`benchmarks.scaling.model` are; one number of ranks determines beta alone. Beyond this machine
there is a core for each rank, computing is shared evenly, and the file system of
:mod:`benchmarks.scaling.predictions` takes what all ranks write and read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Self

from benchmarks.adjoint_io.experiment import CHECKPOINTS, NOTHING, Found
from benchmarks.scaling.model import Disk, fit
from benchmarks.scaling.predictions import FILE_SYSTEM

AREA: Final = (1024, 1024, 20)
"""Of the runs that are predicted: columns along both directions, and levels; Europe at 3 km."""

RANKS: Final = (1, 16, 132, 1024, 8192)


@dataclass(frozen=True)
class Cost:
    """What a store takes for a level, written and read [s], [s/byte], and the greatest relative error of the fit."""

    alpha: float
    beta: float
    error: float

    @classmethod
    def fitted(cls, found: Sequence[Found], store: str, cores: int) -> Self | None:
        """Return the numbers that fit what the synchronous store added, None where it added none."""
        features, times = [], []
        for each in found:
            turns, added = max(1.0, each.ranks / cores), median(each.added(CHECKPOINTS, f"{store}:sync"))
            if added > 0.0:  # else what it costs is lost in noise
                features.append((each.level * turns, turns))
                times.append(added / each.steps)
        if not times:
            return None
        beta, alpha = fit(features, times)
        errors = [abs(beta * many + alpha * one - t) / t for (many, one), t in zip(features, times, strict=True)]
        return cls(alpha, beta, max(errors))

    def time(self, level: float) -> float:
        """Return what a level of so many bytes takes [s]."""
        return self.alpha + self.beta * level


@dataclass(frozen=True)
class Prediction:
    """Times of a step of a gradient, forward and back [s]: computing, and computing with levels kept on disk.

    serial  one rank writes and reads all;  sync, behind  each rank its own, before or behind the computing
    """

    ranks: int
    compute: float
    serial: float
    sync: float
    behind: float


def predictions(found: Found, cost: Cost, hidden: float) -> list[Prediction]:
    """Return runs on a larger area and on more ranks.

    found   on one rank;  hidden  share of the time of the store that hides behind computing [1]
    """
    cells = AREA[0] * AREA[1] * AREA[2]
    alone = median(found.walls[CHECKPOINTS][NOTHING]) / found.steps * cells / found.cells
    per_cell = found.level / found.cells
    system = Disk(2.0 * per_cell, FILE_SYSTEM)
    told = []
    for ranks in RANKS:
        compute = alone / ranks
        own = max(cost.time(per_cell * cells / ranks), system.wait(cells, 0.0, behind=False))
        serial = ranks * cost.alpha + cost.beta * per_cell * cells
        left = max(own - compute, (1.0 - min(max(hidden, 0.0), 1.0)) * own)
        told.append(Prediction(ranks, compute, compute + serial, compute + own, compute + left))
    return told
