"""The whole study: measures, fits, predicts."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airshed.core.report import Table
from airshed.kernels.cpu.pipeline import WIDTH
from airshed.kernels.host import usable_cores
from airshed.models.air.case import Case
from airshed.parallel.decomposition import Decomposition
from airshed.runtime.simulation import Simulation
from benchmarks.scaling.measure import Run, Setup, measure, median
from benchmarks.scaling.model import Load, Machine, Measured
from benchmarks.scaling.northeast import northeast
from benchmarks.scaling.predictions import Prediction, predictions
from benchmarks.scaling.setups import LARGE, SMALL, by_messages, setups

CASE = "aqm-benchmark"
RANKS = (1, 2, 4)
HOURS = 1.0
ROUNDS = 5


Runs = Mapping[Setup, Sequence[Run]]


@dataclass(frozen=True)
class Scaling:
    """All that was measured and what follows.

    sizes    setups as users have them, by size
    between  the same with messages between all ranks, as there are between machines: what the model is fitted to
    """

    case: str
    sizes: dict[str, list[Setup]]
    between: list[Setup]
    runs: Runs
    machine: Machine
    predictions: list[Prediction]
    written: float
    region: Table


def run(
    case: str = CASE, ranks: Sequence[int] = RANKS, hours: float = HOURS, rounds: int = ROUNDS,
    progress: Callable[[str], None] = lambda _: None,
) -> Scaling:  # fmt: skip
    """Measure `hours` of a case on each number of ranks, in as many rounds, and fit and predict from it."""
    sizes = setups(case, ranks)
    between = [by_messages(setup) for each in sizes.values() for setup in each]
    runs = measure(list(dict.fromkeys([*sizes[SMALL], *sizes[LARGE], *between])), hours, rounds, progress)
    machine = Machine.fitted([_measured(setup, runs[setup]) for setup in between if setup.ranks <= usable_cores()])
    progress("writing results")
    written = writing_rate(case)
    progress("a region of the size of the north-eastern USA")
    first = runs[sizes[SMALL][0]][0].ranks[0]
    steps = first.steps / (hours - hours / (first.steps + 1))
    return Scaling(
        case, sizes, between, runs, machine, predictions(machine, first.levels, first.species, written, steps), written,
        northeast(case),
    )  # fmt: skip


def load_of(setup: Setup, species: int) -> Load:
    """Return the load of the busiest rank of a setup."""
    levels, rows, columns = Case.load(setup.case, setup.overrides).make_grid().shape
    return Load.of(Decomposition.of(rows, columns, WIDTH, setup.ranks), levels, species)


def writing_rate(case: str) -> float:
    """Return how fast this program writes results and restarts of all species [byte/s], waiting for them."""
    overrides = ['output=[{fields = "all"}]', 'time.length="1 h"', 'time.spinup="0 h"', "run.threads=1"]
    with tempfile.TemporaryDirectory() as folder:
        with Simulation(Case.load(case, overrides), output=folder) as simulation:
            simulation.run()
            seconds = simulation.wall["output and restarts"]
        return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()) / seconds


def _measured(setup: Setup, runs: Sequence[Run]) -> Measured:
    load = load_of(setup, runs[0].ranks[0].species)
    return Measured(load, *(median(runs, of) for of in ("compute", "control", "halo", "sums", "imbalance")))
