"""Cost of checkpoints on a number of ranks, by two constants fitted to measured gradients.

A rank writes a time level of b bytes and reads it again in the time (beyond that of a store in memory)

  t = (alpha + beta b) max(1, P / cores)

with all P ranks working at the same time; more ranks than cores share the cores. alpha and beta are fitted as in
:mod:`benchmarks.scaling.model`; a single number of ranks determines beta alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Self

from benchmarks.adjoint_io.experiment import CHECKPOINTS, RankMeasurements
from benchmarks.scaling.model import fit


@dataclass(frozen=True)
class Cost:
    """Cost of a time level in a store, written and read [s], [s/byte], and the greatest relative error of the fit."""

    alpha: float
    beta: float
    error: float

    @classmethod
    def fitted(cls, found: Sequence[RankMeasurements], store: str, cores: int) -> Self | None:
        """Return the constants that fit the cost of the synchronous store; None where it has no measurable cost."""
        features, times = [], []
        for each in found:
            turns, added = max(1.0, each.ranks / cores), median(each.added(CHECKPOINTS, f"{store}:sync"))
            if added > 0.0:  # otherwise the cost is below the noise
                features.append((each.level * turns, turns))
                times.append(added / each.steps)
        if not times:
            return None
        beta, alpha = fit(features, times)
        errors = [abs(beta * many + alpha * one - t) / t for (many, one), t in zip(features, times, strict=True)]
        return cls(alpha, beta, max(errors))
