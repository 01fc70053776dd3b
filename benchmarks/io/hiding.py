"""Which share of the writing that could be hidden behind the computation an asynchronous strategy hides.

Runs are compared in pairs: a synchronous and an asynchronous run of K steps, one after the other in one process. With

W  what the computation waits in the synchronous run: all of the writing
V  what it waits in the asynchronous run: to hand over copies, for a place, and at the end for the last records
S  what computing takes longer beside the writer: (K - 1) times the median over the steps but the first, which has
   nothing beside it, of the asynchronous step's computing less the synchronous one's
C  what the synchronous run computes: K times the median of a step

an asynchronous run is shorter by W - V - S. Nothing is written beside the first computing and nothing computed beside
the last writing, so that (K - 1) / K min(W, C) is the most that it can be shorter by, and

    share = (W - V - S) / ((K - 1) / K min(W, C)).

W and V are measured by clocks inside the run. S is a difference of large numbers: the median of steps leaves out single
disturbances, and the median of pairs has a confidence interval by ranks, for any distribution.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from benchmarks.io.experiment import Measured, Spent
from benchmarks.median import Median, median_of


@dataclass(frozen=True)
class Pair:
    """A synchronous and an asynchronous run that follow each other."""

    sync: Spent
    behind: Spent

    @property
    def slowed(self) -> float:
        """S [s]: what computing takes longer beside the writer."""
        later = [behind - sync for behind, sync in zip(self.behind.computed, self.sync.computed, strict=True)][1:]
        return len(later) * median(later) if later else 0.0

    @property
    def possible(self) -> float:
        """The most [s] that the asynchronous run can be shorter by."""
        steps = len(self.sync.computed)
        return (steps - 1) / steps * min(self.sync.writing, steps * median(self.sync.computed))

    @property
    def gained(self) -> float:
        """W - V - S [s]: what the asynchronous run is shorter by."""
        return self.sync.writing - self.behind.writing - self.slowed


@dataclass(frozen=True)
class Hiding:
    """What an asynchronous strategy hides: parts of a run [s], the median of all pairs, and shares [1].

    writing, handing, drained  W; the two parts of V: in the steps, and at the end
    hidden, unwaited           the share, and what it would be if the writer slowed nothing down
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
        """Whether there are enough pairs for an interval; of fewer the shares may lie far beyond 0..1."""
        return self.hidden.low is not None


def hiding(measured: Measured, name: str) -> Hiding | None:
    """Return what a strategy hides; None where nothing could be: in runs of one step, or that compute nothing."""
    pairs = [Pair(*runs) for runs in zip(measured.runs[f"{name}:sync"], measured.runs[f"{name}:async"], strict=True)]
    if not all(pair.possible > 0.0 for pair in pairs):
        return None

    def typical(part: Callable[[Pair], float]) -> float:
        return median(map(part, pairs))

    return Hiding(
        writing=typical(lambda pair: pair.sync.writing),
        handing=typical(lambda pair: sum(pair.behind.waited)),
        drained=typical(lambda pair: pair.behind.drained),
        slowed=typical(lambda pair: pair.slowed),
        possible=typical(lambda pair: pair.possible),
        hidden=median_of([pair.gained / pair.possible for pair in pairs]),
        unwaited=median_of([(pair.sync.writing - pair.behind.writing) / pair.possible for pair in pairs]),
    )
