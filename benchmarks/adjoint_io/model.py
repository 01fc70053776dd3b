"""Cost of checkpoints on some numbers of ranks, by two numbers that are fitted to measured gradients.

A rank writes a level of b bytes and reads it again in the time (beyond that of a store in memory)

    t = (alpha + beta b) max(1, P / cores)

with all P ranks at work at once; where there are more ranks than cores, they take turns. alpha and beta are fitted as
the numbers of :mod:`benchmarks.scaling.model` are; one number of ranks determines beta alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Self

from benchmarks.adjoint_io.experiment import CHECKPOINTS, Found
from benchmarks.scaling.model import fit


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
