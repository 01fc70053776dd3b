"""Share of the writing that an asynchronous strategy hides behind computation, of the largest possible share.

Runs are compared in pairs: a synchronous and an asynchronous run of K steps, one after the other in one process. With

W  waiting of the synchronous run: all of the writing
V  waiting of the asynchronous run: for handing over copies, for a free buffer, and at the end for the last records
S  slowing of computation by the writer: (K - 1) times the median over the steps except the first, which has no
   concurrent writing, of the asynchronous step's computation minus the synchronous one's
C  computation of the synchronous run: K times the median of a step

an asynchronous run is shorter by W - V - S. The first computation and the last writing overlap with nothing, so the
run is shorter by at most (K - 1) / K min(W, C), and

  share = (W - V - S) / ((K - 1) / K min(W, C)).

W and V are measured by clocks inside the run. S is a difference of large numbers: the median of steps excludes single
disturbances, and the median of pairs has a distribution-free confidence interval by ranks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from benchmarks.io.experiment import OutputMeasurements, RunTimes
from benchmarks.median import Median, median_of


@dataclass(frozen=True)
class Pair:
    """A synchronous run and the asynchronous run after it, or before it."""

    sync: RunTimes
    behind: RunTimes

    @property
    def slowed(self) -> float:
        """S [s], the slowing of computation by the writer."""
        later = [behind - sync for behind, sync in zip(self.behind.computed, self.sync.computed, strict=True)][1:]
        return len(later) * median(later) if later else 0.0

    @property
    def possible(self) -> float:
        """Greatest possible gain [s] of the asynchronous run."""
        steps = len(self.sync.computed)
        return (steps - 1) / steps * min(self.sync.writing, steps * median(self.sync.computed))

    @property
    def gained(self) -> float:
        """W - V - S [s], the gain of the asynchronous run."""
        return self.sync.writing - self.behind.writing - self.slowed


@dataclass(frozen=True)
class Overlap:
    """Overlap of an asynchronous strategy: parts of a run [s], the median of all pairs, and shares [1].

    writing, handing, drained  W; the two parts of V: in the steps, and at the end
    hidden, unwaited           the share, and the share without slowing by the writer
    """

    writing: float
    handing: float
    drained: float
    slowed: float
    possible: float
    hidden: Median
    unwaited: Median

    @property
    def has_interval(self) -> bool:
        """Return whether there are enough pairs for an interval; shares of fewer can be far outside 0..1."""
        return self.hidden.low is not None


def overlap(measured: OutputMeasurements, name: str) -> Overlap | None:
    """Return the overlap of a strategy; None where none is possible: in runs of one step, or without computation."""
    pairs = [Pair(*runs) for runs in zip(measured.runs[f"{name}:sync"], measured.runs[f"{name}:async"], strict=True)]
    if not all(pair.possible > 0.0 for pair in pairs):
        return None

    def typical(part: Callable[[Pair], float]) -> float:
        return median(map(part, pairs))

    return Overlap(
        writing=typical(lambda pair: pair.sync.writing),
        handing=typical(lambda pair: sum(pair.behind.waited)),
        drained=typical(lambda pair: pair.behind.drained),
        slowed=typical(lambda pair: pair.slowed),
        possible=typical(lambda pair: pair.possible),
        hidden=median_of([pair.gained / pair.possible for pair in pairs]),
        unwaited=median_of([(pair.sync.writing - pair.behind.writing) / pair.possible for pair in pairs]),
    )
