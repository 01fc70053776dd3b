"""The scaling study: measurement and fit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from airshed.core.report import Table
from airshed.kernels.backends.cpu.kernel import WIDTH
from airshed.kernels.host import usable_cores
from airshed.models.air.case import Case
from airshed.parallel.decomposition import Decomposition
from benchmarks.scaling.measure import Run, Setup, measure, median
from benchmarks.scaling.model import Load, Machine, MeasuredPoint
from benchmarks.scaling.northeast import northeast
from benchmarks.scaling.setups import setups

CASE = "aqm-benchmark"
RANKS = (1, 2, 4)
HOURS = 1.0
ROUNDS = 5


Runs = Mapping[Setup, Sequence[Run]]


@dataclass(frozen=True)
class ScalingStudy:
    """MeasuredPoint runs and the fitted model.

    sizes  the setups, by size
    """

    case: str
    sizes: dict[str, list[Setup]]
    runs: Runs
    machine: Machine
    region: Table


def run(
    case: str = CASE, ranks: Sequence[int] = RANKS, hours: float = HOURS, rounds: int = ROUNDS,
    progress: Callable[[str], None] = lambda _: None,
) -> ScalingStudy:  # fmt: skip
    """Measure `hours` of a case on each number of ranks, in `rounds` rounds, and fit the model to it."""
    sizes = setups(case, ranks)
    all_setups = [setup for each in sizes.values() for setup in each]
    runs = measure(all_setups, hours, rounds, progress)
    machine = Machine.fitted([_measured(setup, runs[setup]) for setup in all_setups if setup.ranks <= usable_cores()])
    progress("a region of the size of the north-eastern USA")
    return ScalingStudy(case, sizes, runs, machine, northeast(case))


def load_of(setup: Setup, species: int) -> Load:
    """Return the load of the busiest rank of a setup."""
    levels, rows, columns = Case.load(setup.case, setup.overrides).make_grid().shape
    return Load.of(Decomposition.of(rows, columns, WIDTH, setup.ranks), levels, species)


def _measured(setup: Setup, runs: Sequence[Run]) -> MeasuredPoint:
    load = load_of(setup, runs[0].ranks[0].species)
    return MeasuredPoint(load, *(median(runs, of) for of in ("compute", "control", "halo", "sums", "imbalance")))
