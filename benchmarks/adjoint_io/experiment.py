"""The measurement, on one rank or several that make the same calls.

Checkpoints: a gradient that stores every time level, as in the plan `all`, and reads it in the backward pass. Output: a
run that writes all species several times. Both are whole cases, each compared with the same case without writing.
"""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.errors import CaseError
from airshed.inverse.backward import Backward
from airshed.inverse.checkpoints.trajectory import Trajectory
from airshed.inverse.gradient import CostEvaluator, run_forward
from airshed.inverse.reverse.runners import AdjointOptions
from airshed.io.strategies.choice import STRATEGIES
from airshed.models.air.case import Case
from airshed.models.air.model import AirModel
from airshed.parallel.communicator import Communicator
from airshed.runtime.simulation import Simulation
from benchmarks.adjoint import mean_cost

STORES: Final = ("files", "mpiio", "zarr")
OUTPUTS: Final = ("gather", "files", "mpiio", "zarr")
CHECKPOINTS, OUTPUT = "checkpoints", "output"
MODES: Final = {CHECKPOINTS: ("sync",), OUTPUT: ("sync", "async")}
NOTHING: Final = "nothing"
"""The gradient with time levels in memory, and the run without output."""

_RECORDS: Final = 6
"""Records in the output of a run."""


@dataclass(frozen=True)
class Experiment:
    """Settings of the experiment.

    settings  additional settings of the case
    minutes   of the case that each run simulates
    rounds    in which every kind runs once; a first round is not counted
    """

    case: str = "west-europe"
    settings: tuple[str, ...] = ()
    minutes: float = 60.0
    stores: tuple[str, ...] = STORES
    outputs: tuple[str, ...] = OUTPUTS
    rounds: int = 6

    def check(self) -> None:
        """Raise CaseError for an unknown store or strategy."""
        for name, known in [*((each, STORES) for each in self.stores), *((each, STRATEGIES) for each in self.outputs)]:
            if name not in known:
                raise CaseError(f"{name!r} cannot be measured; choose from {', '.join(known)}")

    def kinds(self) -> Iterator[tuple[str, str]]:
        """Yield the kinds of runs: checkpoints or output, and "nothing" or "NAME:MODE"."""
        for subject, names in ((CHECKPOINTS, self.stores), (OUTPUT, self.outputs)):
            if names:
                yield subject, NOTHING
                yield from ((subject, f"{name}:{mode}") for name in names for mode in MODES[subject])

    def load(self, subject: str, kind: str) -> Case:
        """Return the case of a kind, on one thread and without its spin-up."""
        settings = [
            'time.spinup="0 h"', f'time.length="{self.minutes!r} min"', "run.threads=1", "output=[]", *self.settings,
        ]  # fmt: skip
        name = kind.removesuffix(":sync")
        if subject == CHECKPOINTS:
            store = "memory" if kind == NOTHING else name
            settings += ['adjoint.plan="all"', 'adjoint.memory="1e3 GB"', 'adjoint.disk="1e3 GB"']
            settings += [f'adjoint.store="{store}"']
        elif kind != NOTHING:
            every = f"{self.minutes / _RECORDS!r} min"
            settings += [f'output=[{{fields="all", every="{every}", strategy="{name}"}}]']
        return Case.load(self.case, settings)


@dataclass(frozen=True)
class RankMeasurements:
    """Measurements on a number of ranks.

    steps  of a run;  cells  of the whole area
    level  bytes of a time level on the rank with the most;  record  bytes of all output of a run, in single precision
    walls  wall times [s] of the slowest rank, by checkpoints or output and by kind
    """

    ranks: int
    steps: int = 0
    cells: int = 0
    level: int = 0
    record: int = 0
    walls: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)

    def added(self, subject: str, kind: str) -> list[float]:
        """Return the time [s] of a kind beyond the run without writing in the same round."""
        walls = self.walls[subject]
        return [wall - nothing for wall, nothing in zip(walls[kind], walls[NOTHING], strict=True)]


def measure(experiment: Experiment, ranks: Communicator, folder: Path) -> dict[str, Any]:
    """Return the measurements on these ranks for JSON; kinds alternate in both orders."""
    kinds, sizes = list(experiment.kinds()), _Sizes()
    walls: dict[str, dict[str, list[float]]] = {subject: {} for subject, _ in kinds}
    for turn in range(experiment.rounds + 1):
        for subject, kind in kinds if turn % 2 else reversed(kinds):
            ranks.barrier()
            case = experiment.load(subject, kind)
            spent = _gradient(case, sizes, folder) if subject == CHECKPOINTS else _run(case, folder / kind, sizes)
            ranks.barrier()
            if ranks.rank == 0:
                shutil.rmtree(folder / kind, ignore_errors=True)
            if turn:  # the first turn compiles and loads libraries, and is not counted
                walls[subject].setdefault(kind, []).append(float(ranks.largest(np.array([spent]))[0]))
    greatest = ranks.largest(np.array([sizes.level]))
    found = RankMeasurements(ranks.size, sizes.steps, sizes.cells, int(greatest[0]), sizes.record, walls)
    return asdict(found)


@dataclass
class _Sizes:
    """Sizes reported by the runs."""

    steps: int = 0
    cells: int = 0
    level: int = 0
    record: int = 0

    def look(self, model: AirModel) -> None:
        state = model.stepper.state
        self.level, self.cells = state.q.nbytes + state.air.nbytes, int(np.prod(model.whole.shape))
        self.record = 4 * len(model.network.names) * self.cells * (_RECORDS + 1)


def _gradient(case: Case, sizes: _Sizes, folder: Path) -> float:
    """Return the wall time of a gradient from its first step to its adjoints."""
    with Simulation(case) as simulation:
        model, cost = simulation.model, mean_cost(case, case.time.length.value)
        with closing(Trajectory(model, folder)) as trajectory:
            began = time.perf_counter()
            observed = CostEvaluator(model, cost, simulation.end)
            actions = run_forward(simulation, trajectory, observed, lambda part, done: None)
            with closing(Backward(model, trajectory.derivatives, cost, AdjointOptions(read=False))) as backward:
                backward.run(trajectory, actions)
            spent = time.perf_counter() - began
        sizes.look(model)
        sizes.steps = len(trajectory.ends)
    return spent


def _run(case: Case, folder: Path, sizes: _Sizes) -> float:
    """Return the wall time of a run until all its results are on disk."""
    writes = bool(case.output)
    with closing(Simulation(case, output=folder if writes else None)) as simulation:
        began = time.perf_counter()
        simulation.run()
        spent = time.perf_counter() - began
        sizes.look(simulation.model)
        sizes.steps = sizes.steps or simulation.model.steps
    return spent


def measured(request: Mapping[str, Any], ranks: Communicator) -> dict[str, Any]:
    """Return the measurements for a request on these ranks; see :mod:`benchmarks.started`."""
    given = request["experiment"]
    experiment: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in given.items()}
    return measure(Experiment(**experiment), ranks, Path(request["folder"]))
