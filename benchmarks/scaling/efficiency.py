"""Parallel efficiency of a run on several cores, separated from the loss of the machine itself.

Cores of a machine share memory, caches, clock and often a host with other virtual machines. So N independent programs
take longer at the same time than one alone. Each round runs, one after the other,

  one          the case on one rank                                    T1
  together     the case on N ranks                                     TN      efficiency  T1 / (N TN)
  independent  the whole case N times simultaneously, each on one rank TA      the machine's  T1 / TA

The loss of the program is that beyond the machine's loss: (T1 / (N TN)) / (T1 / TA) = TA / (N TN).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from airshed.core.report import Cell, Report, Table
from airshed.kernels.host import processor, usable_cores
from benchmarks.median import Median, median_of
from benchmarks.scaling.measure import Run, Setup, measure, median
from benchmarks.scaling.setups import check_shared, size_of

CASE = "west-europe"
HOURS = 12.0
ROUNDS = 8


@dataclass(frozen=True)
class Efficiency:
    """Runs of each kind, by round."""

    one: Sequence[Run]
    together: Sequence[Run]
    independent: Sequence[Run]

    @property
    def ranks(self) -> int:
        """Number of ranks N."""
        return self.together[0].setup.ranks

    def of(self, kind: str = "wall") -> Median:
        """T1 / (N TN) [1] of the wall time, or of the "cost", without the time of other programs."""
        pairs = zip(self.one, self.together, strict=True)
        return median_of([getattr(one, kind) / (self.ranks * getattr(many, kind)) for one, many in pairs])

    @property
    def of_machine(self) -> Median:
        """T1 / TA [1]."""
        return median_of([one.wall / many.wall for one, many in zip(self.one, self.independent, strict=True)])

    @property
    def of_program(self) -> Median:
        """TA / (N TN) [1]."""
        pairs = zip(self.independent, self.together, strict=True)
        return median_of([independent.wall / (self.ranks * many.wall) for independent, many in pairs])


def efficiency(
    case: str = CASE, ranks: int = 2, hours: float = HOURS, rounds: int = ROUNDS,
    progress: Callable[[str], None] = lambda _: None,
) -> Efficiency:  # fmt: skip
    """Measure a case on one rank, on several, and in as many independent runs, in alternation."""
    check_shared(case, [ranks])
    size = size_of(case, ())
    setups = [Setup(case, size, 1), Setup(case, size, ranks), Setup(case, size, ranks, independent=True)]
    runs = measure(setups, hours, rounds, progress)
    return Efficiency(*(runs[setup] for setup in setups))


def report(found: Efficiency) -> Report:
    """Return the results as tables."""
    ranks, setup = found.ranks, found.together[0].setup
    kinds = {"one rank": found.one, f"{ranks} ranks": found.together, f"{ranks} independent runs": found.independent}
    walls: list[tuple[Cell, ...]] = []
    for name, runs in kinds.items():
        taken = [1e3 * run.wall for run in runs]
        walls.append((name, min(taken), 1e3 * median(runs), max(taken)))
    named = (
        (f"efficiency of {ranks} ranks", found.of()), ("the same on undisturbed cores", found.of("cost")),
        (f"{ranks} independent programs", found.of_machine), (f"{ranks} ranks relative to them", found.of_program),
    )  # fmt: skip
    shares: list[tuple[Cell, ...]] = [(name, each.median, each.low, each.high) for name, each in named]
    note = "undisturbed: core time of the busiest rank, plus the cost of calls in the fastest step"
    facts: dict[str, Cell] = {
        "grid": setup.size, "processor": processor().model, "cores": usable_cores(), "rounds": len(found.one),
    }  # fmt: skip
    tables = [
        Table("Wall time of a step [ms]", ("run", "fastest", "median", "slowest"), walls),
        Table("Efficiency [1]", ("quantity", "median", "at least", "at most"), shares, note),
    ]
    return Report(f"{setup.case} on {ranks} ranks", tables, facts)
