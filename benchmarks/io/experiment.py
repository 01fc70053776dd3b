"""The measurement, on one rank or several that make the same calls."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import CaseError
from airshed.grid import Grid
from airshed.io.background import PendingCopies
from airshed.io.folder import RunFolder
from airshed.io.output import Output, OutputWriter
from airshed.io.strategies.choice import STRATEGIES, Strategy, missing
from airshed.models.air.fields import air_registry
from airshed.parallel.communicator import Communicator
from airshed.parallel.decomposition import Decomposition, Tile
from benchmarks.io.load import Load, timed

SPECIES: Final = 66
READ: Final = (4, 5)
"""Three-dimensional and two-dimensional fields that a step reads."""

COMPUTE, INPUT = "compute alone", "with input"
MODES: Final = ("sync", "async")
_WIDTH: Final = 8
_INPUT_FILE: Final = "input.bin"


@dataclass(frozen=True)
class Experiment:
    """Settings of the experiment: grid (lon, lat, level), compute [s] of a step, bandwidth [byte/s] of all ranks."""

    strategies: tuple[str, ...] = ()
    grid: tuple[int, int, int] = (64, 64, 32)
    steps: int = 5
    compute: float = 0.2
    repeats: int = 16
    bandwidth: float | None = None

    @property
    def bytes(self) -> int:
        """Bytes written in a step."""
        columns, rows, levels = self.grid
        return 4 * SPECIES * columns * rows * levels

    def names(self) -> list[str]:
        """Strategies to measure; raises CaseError for one that is unknown or not available on this machine."""
        if not self.strategies:
            return [name for name in STRATEGIES if missing(name) is None]
        for name in self.strategies:
            reason = missing(name) if name in STRATEGIES else f"choose from {', '.join(STRATEGIES)}"
            if reason is not None:
                raise CaseError(f"strategy {name!r} cannot be measured: {reason}")
        return list(self.strategies)


@dataclass(frozen=True)
class RunTimes:
    """Wall time [s] of a run, as seen by the computing thread.

    computed  input and computation of each step
    waited    output call of each step: all of the writing, or handing over a copy and waiting for a free buffer
    drained   from the last step until all records are on disk
    final     creation of the final file
    """

    computed: Sequence[float]
    waited: Sequence[float] = ()
    drained: float = 0.0
    final: float = 0.0

    @property
    def writing(self) -> float:
        """Time for which the computation waited for writing."""
        return sum(self.waited) + self.drained

    @property
    def steps(self) -> float:
        """Time until all records are on disk."""
        return sum(self.computed) + self.writing

    @property
    def total(self) -> float:
        """Total time."""
        return self.steps + self.final


Runs = Mapping[str, Sequence[RunTimes]]


@dataclass(frozen=True)
class OutputMeasurements:
    """Runs by kind: "compute alone", "with input", and "NAME:sync" or "NAME:async"."""

    experiment: Experiment
    ranks: int
    runs: Runs

    @property
    def strategies(self) -> list[str]:
        """OutputMeasurements strategies, in order."""
        return list(dict.fromkeys(kind.partition(":")[0] for kind in self.runs if kind not in (COMPUTE, INPUT)))


def grid_of(text: str) -> tuple[int, int, int]:
    """Return the grid of a text such as 64x64x32; raises CaseError."""
    parts = text.lower().split("x")
    if len(parts) != 3 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise CaseError(f"{text!r} is not a grid; give longitudes, latitudes and levels, such as 64x64x32")
    columns, rows, levels = map(int, parts)
    return columns, rows, levels


def measure(experiment: Experiment, ranks: Communicator, folder: Path) -> dict[str, list[RunTimes]]:
    """Return the time of each run, of the slowest rank; all kinds of runs alternate.

    The synchronous and the asynchronous run of a strategy follow each other, in alternating order. So a drift of the
    machine's speed favours neither. A first turn of one step is not counted: it loads libraries and allocates memory.
    """
    bench = _Bench(experiment, ranks, folder)
    modes = [f"{name}:{mode}" for name in experiment.names() for mode in MODES]
    kinds = [COMPUTE, INPUT, *modes]
    for kind in kinds:
        bench.run(kind, steps=1)
    runs: dict[str, list[RunTimes]] = {kind: [] for kind in kinds}
    for turn in range(experiment.repeats):
        for kind in kinds if turn % 2 == 0 else reversed(kinds):
            runs[kind].append(bench.run(kind, experiment.steps))
    return runs


class _Bench:
    """Part of the experiment on one rank."""

    def __init__(self, experiment: Experiment, ranks: Communicator, folder: Path) -> None:
        self._experiment, self._ranks, self._folder = experiment, ranks, folder
        columns, rows, levels = experiment.grid
        self._grid = Grid.regular(
            lon=(0.0, 0.5 * columns), lat=(0.0, 0.5 * rows), spacing=0.5,
            layers=list(np.linspace(20.0, 5000.0, levels)),
        )  # fmt: skip
        cut = Decomposition.of(rows, columns, _WIDTH, ranks.size)
        self._tiles: list[Tile] = cut.tiles()
        self._window = cut.tile(ranks.rank).window
        self._fields = air_registry([(f"S{number:02d}", "a species") for number in range(SPECIES)]).select(
            [f"S{number:02d}" for number in range(SPECIES)]
        )
        self._load = Load(
            [spec.name for spec in self._fields], (levels, *self._window.shape), experiment.compute, ranks.rank,
            lambda seconds: float(ranks.largest(np.array([seconds]))[0]),
        )  # fmt: skip
        if ranks.rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            np.random.default_rng(0).random((READ[0] * levels + READ[1], rows, columns), np.float32).tofile(
                folder / _INPUT_FILE
            )
        ranks.barrier()

    def run(self, kind: str, steps: int) -> RunTimes:
        """Return the time of a run; each part is that of the slowest rank."""
        self._ranks.barrier()
        if kind in (COMPUTE, INPUT):
            spent = RunTimes([self._step(reads=kind == INPUT) for _ in range(steps)])
        else:
            spent = self._writing(Strategy.parse(kind), steps)
        return self._slowest(spent)

    def _slowest(self, spent: RunTimes) -> RunTimes:
        parts = [*spent.computed, *spent.waited, spent.drained, spent.final]
        *each, drained, final = (float(part) for part in self._ranks.largest(np.array(parts)))
        return RunTimes(each[: len(spent.computed)], each[len(spent.computed) :], drained, final)

    def _writing(self, strategy: Strategy, steps: int) -> RunTimes:
        limit = None if self._experiment.bandwidth is None else self._experiment.bandwidth / self._ranks.size
        folder = self._folder / "run"
        with RunFolder(folder, "", ranks=self._ranks, bandwidth=limit) as run:
            writer = OutputWriter(
                run, self._grid.axes, Output(self._fields, 1.0, strategy=strategy),
                start=np.datetime64("2022-08-31T00:00"), attributes={"title": "bench io"}, box=self._window.box,
            )  # fmt: skip
            self._ranks.barrier()
            computed, waited, pending = [], [], PendingCopies()
            for step in range(steps):
                held = timed(partial(pending.release, self._load.steps))
                computed.append(self._step(reads=True))
                waited.append(held + timed(partial(self._output, writer, step, pending)))
            drained = timed(run.wait)
            final = timed(writer.finish)
            run.finish()
        if self._ranks.rank == 0:
            shutil.rmtree(folder)
        self._ranks.barrier()
        return RunTimes(computed, waited, drained, final)

    def _output(self, writer: OutputWriter, step: int, pending: PendingCopies) -> None:
        """Write, and wait for the other ranks, so that the waiting of one does not count as computation of another."""
        copy = writer.write(float(step), self._load.newest, lasting=True)
        pending.add(self._load.steps + self._load.lasting, partial(writer.ensure, copy))
        self._ranks.barrier()

    def _step(self, *, reads: bool) -> float:
        """Return the time of a step without its output."""
        return timed(partial(self._advance, reads=reads))

    def _advance(self, *, reads: bool) -> None:
        if reads:
            self._read()
        self._load.step()
        self._ranks.barrier()

    def _read(self) -> list[NDArray[Any]]:
        """Read the input of a step on the root, and send each rank its part."""
        columns, rows, _ = self._experiment.grid
        parts = None
        if self._ranks.rank == 0:
            whole = np.fromfile(self._folder / _INPUT_FILE, np.float32).reshape(-1, rows, columns)
            parts = [np.ascontiguousarray(tile.window.of(whole)) for tile in self._tiles]
        part: NDArray[Any] = self._ranks.scatter(parts)
        return [part]


def measured(request: Mapping[str, Any], ranks: Communicator) -> dict[str, Any]:
    """Return the measurements for a request on these ranks; see :mod:`benchmarks.started`."""
    experiment = {**request["experiment"], "strategies": tuple(request["experiment"]["strategies"])}
    runs = measure(Experiment(**experiment), ranks, Path(request["folder"]))
    return {kind: [asdict(each) for each in found] for kind, found in runs.items()}
