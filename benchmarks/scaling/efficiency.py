"""How much of several cores a run on as many ranks makes use of, and how much of them the machine gives at all.

Cores of one machine share memory, caches, clock and often a host with strangers, so that N programs that have nothing
to do with each other take longer at once than one alone. Each round runs, one after the other,

    one      the case on one rank                                    T1
    together the case on N ranks                                     TN      efficiency  T1 / (N TN)
    apart    the whole case N times at once, on a rank each          TA      the machine's  T1 / TA

and what is lost beside the machine's own loss is the program's: (T1 / (N TN)) / (T1 / TA) = TA / (N TN).
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
    apart: Sequence[Run]

    @property
    def ranks(self) -> int:
        """N."""
        return self.together[0].setup.ranks

    def of(self, kind: str = "wall") -> Median:
        """T1 / (N TN) [1]: by the clock, or "cost", without the time of other programs."""
        pairs = zip(self.one, self.together, strict=True)
        return median_of([getattr(one, kind) / (self.ranks * getattr(many, kind)) for one, many in pairs])

    @property
    def of_machine(self) -> Median:
        """T1 / TA [1]."""
        return median_of([one.wall / many.wall for one, many in zip(self.one, self.apart, strict=True)])

    @property
    def of_program(self) -> Median:
        """TA / (N TN) [1]."""
        pairs = zip(self.apart, self.together, strict=True)
        return median_of([apart.wall / (self.ranks * many.wall) for apart, many in pairs])


def efficiency(
    case: str = CASE, ranks: int = 2, hours: float = HOURS, rounds: int = ROUNDS,
    progress: Callable[[str], None] = lambda _: None,
) -> Efficiency:  # fmt: skip
    """Measure a case on one rank, on several, and as often at once, in turn."""
    check_shared(case, [ranks])
    size = size_of(case, ())
    setups = [Setup(case, size, 1), Setup(case, size, ranks), Setup(case, size, ranks, apart=True)]
    runs = measure(setups, hours, rounds, progress)
    return Efficiency(*(runs[setup] for setup in setups))


def report(found: Efficiency) -> Report:
    """Return what was found as tables."""
    ranks, setup = found.ranks, found.together[0].setup
    kinds = {"one rank": found.one, f"{ranks} ranks": found.together, f"{ranks} times the case at once": found.apart}
    walls: list[tuple[Cell, ...]] = []
    for name, runs in kinds.items():
        taken = [1e3 * run.wall for run in runs]
        walls.append((name, min(taken), 1e3 * median(runs), max(taken)))
    named = (
        (f"efficiency of {ranks} ranks", found.of()), ("the same on undisturbed cores", found.of("cost")),
        (f"{ranks} programs at once", found.of_machine), (f"{ranks} ranks beside them", found.of_program),
    )  # fmt: skip
    shares: list[tuple[Cell, ...]] = [(name, each.median, each.low, each.high) for name, each in named]
    note = "undisturbed: time on its core of the busiest rank, and what calls cost in the quickest step"
    facts: dict[str, Cell] = {
        "grid": setup.size, "processor": processor().model, "cores": usable_cores(), "rounds": len(found.one),
    }  # fmt: skip
    tables = [
        Table("Wall time of a step [ms]", ("run", "fastest", "median", "slowest"), walls),
        Table("Efficiency [1]", ("what", "median", "at least", "at most"), shares, note),
    ]
    return Report(f"{setup.case} on {ranks} ranks", tables, facts)
