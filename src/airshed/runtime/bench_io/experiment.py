"""What is measured, on one rank or several that make the same calls."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import CaseError
from airshed.fields.air import air_registry
from airshed.grid import Grid
from airshed.io.folder import RunFolder
from airshed.io.output import OutputWriter
from airshed.io.strategies.names import STRATEGIES, Strategy, missing
from airshed.parallel.communicator import Communicator
from airshed.parallel.decomposition import Decomposition, Tile

SPECIES: Final = 66
READ: Final = (4, 5)
"""Three-dimensional and two-dimensional fields that a step reads."""

COMPUTE, INPUT = "compute alone", "with input"
MODES: Final = ("sync", "async")
_WIDTH: Final = 8
_VALUES: Final = 16384
_INPUT_FILE: Final = "input.bin"


@dataclass(frozen=True)
class Experiment:
    """What is asked for: grid (lon, lat, level), compute [s] of a step, bandwidth [byte/s] of all ranks, or None."""

    strategies: tuple[str, ...] = ()
    grid: tuple[int, int, int] = (64, 64, 32)
    steps: int = 4
    compute: float = 0.5
    repeats: int = 3
    bandwidth: float | None = None

    @property
    def bytes(self) -> int:
        """What a step writes."""
        columns, rows, levels = self.grid
        return 4 * SPECIES * columns * rows * levels

    def names(self) -> list[str]:
        """The strategies to measure; raises CaseError for one that there is not, or that this machine lacks."""
        if not self.strategies:
            return [name for name in STRATEGIES if missing(name) is None]
        for name in self.strategies:
            reason = missing(name) if name in STRATEGIES else f"take one of {', '.join(STRATEGIES)}"
            if reason is not None:
                raise CaseError(f"strategy {name!r} cannot be measured: {reason}")
        return list(self.strategies)


@dataclass(frozen=True)
class Spent:
    """Wall time [s] of a run: until all records are on the disk, and of making the final file."""

    steps: float
    final: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.steps + self.final


Runs = Mapping[str, Sequence[Spent]]


@dataclass(frozen=True)
class Measured:
    """Runs by what they did: "compute alone", "with input", and "NAME:sync" or "NAME:async"."""

    asked: Experiment
    ranks: int
    runs: Runs


def grid_of(text: str) -> tuple[int, int, int]:
    """Return the grid of a text such as 64x64x32; raises CaseError."""
    parts = text.lower().split("x")
    if len(parts) != 3 or not all(part.isdigit() and int(part) > 0 for part in parts):
        raise CaseError(f"{text!r} is no grid; give longitudes, latitudes and levels, such as 64x64x32")
    columns, rows, levels = map(int, parts)
    return columns, rows, levels


def measure(asked: Experiment, ranks: Communicator, folder: Path) -> dict[str, list[Spent]]:
    """Return the time of each run, of the slowest rank; all kinds of runs take turns."""
    bench = _Bench(asked, ranks, folder)
    kinds = [COMPUTE, INPUT, *(f"{name}:{mode}" for name in asked.names() for mode in MODES)]
    runs: dict[str, list[Spent]] = {kind: [] for kind in kinds}
    for _ in range(asked.repeats):
        for kind in kinds:
            runs[kind].append(bench.run(kind))
    return runs


class _Bench:
    """One rank's part of the experiment."""

    def __init__(self, asked: Experiment, ranks: Communicator, folder: Path) -> None:
        self._asked, self._ranks, self._folder = asked, ranks, folder
        columns, rows, levels = asked.grid
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
        random = np.random.default_rng(ranks.rank)
        self._state = {spec.name: 1e-9 * random.random((levels, *self._window.shape)) for spec in self._fields}
        self._values = np.linspace(0.0, 1.0, _VALUES)
        self._turns = self._calibrated()
        if ranks.rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            np.random.default_rng(0).random((READ[0] * levels + READ[1], rows, columns), np.float32).tofile(
                folder / _INPUT_FILE
            )
        ranks.barrier()

    def run(self, kind: str) -> Spent:
        """Return the time of a run, of the slowest rank."""
        self._ranks.barrier()
        spent = self._plain(kind) if kind in (COMPUTE, INPUT) else self._writing(Strategy.parse(kind))
        slowest = self._ranks.largest(np.array([spent.steps, spent.final]))
        return Spent(float(slowest[0]), float(slowest[1]))

    def _plain(self, kind: str) -> Spent:
        began = time.perf_counter()
        for _ in range(self._asked.steps):
            if kind == INPUT:
                self._read()
            self._compute()
        self._ranks.barrier()
        return Spent(time.perf_counter() - began, 0.0)

    def _writing(self, strategy: Strategy) -> Spent:
        limit = None if self._asked.bandwidth is None else self._asked.bandwidth / self._ranks.size
        folder = self._folder / "run"
        with RunFolder(folder, "", ranks=self._ranks, bandwidth=limit) as run:
            writer = OutputWriter(
                run, self._grid, self._fields, start=np.datetime64("2022-08-31T00:00"), title="bench io", every=1.0,
                window=self._window, strategy=strategy, compression="none",
            )  # fmt: skip
            self._ranks.barrier()
            began = time.perf_counter()
            for step in range(self._asked.steps):
                self._read()
                self._compute()
                writer.write(float(step), self._state)
            run.wait()
            written = time.perf_counter()
            writer.finish()
            ended = time.perf_counter()
            run.finish()
        if self._ranks.rank == 0:
            shutil.rmtree(folder)
        self._ranks.barrier()
        return Spent(written - began, ended - written)

    def _read(self) -> list[NDArray[Any]]:
        """Read the input of a step on the root, and send each rank its part."""
        columns, rows, _ = self._asked.grid
        parts = None
        if self._ranks.rank == 0:
            whole = np.fromfile(self._folder / _INPUT_FILE, np.float32).reshape(-1, rows, columns)
            parts = [np.ascontiguousarray(tile.window.of(whole)) for tile in self._tiles]
        part: NDArray[Any] = self._ranks.scatter(parts)
        return [part]

    def _compute(self) -> None:
        """Compute as much as takes the asked time on a core that does nothing else."""
        result = np.empty_like(self._values)
        for _ in range(self._turns):
            np.sin(self._values, out=result)
        self._ranks.barrier()

    def _calibrated(self) -> int:
        result, trials = np.empty_like(self._values), []
        for _ in range(7):
            began = time.perf_counter()
            for _ in range(50):
                np.sin(self._values, out=result)
            trials.append((time.perf_counter() - began) / 50)
        slowest = float(self._ranks.largest(np.array([min(trials)]))[0])
        return round(self._asked.compute / slowest)
