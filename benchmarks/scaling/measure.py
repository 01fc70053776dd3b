"""Run a case on several numbers of ranks in alternation, and collect the times of each rank.

A shared machine changes its speed from minute to minute. So every round runs all setups once, one after the
other; ratios are taken within a round, and their median over the rounds is reported.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from airshed.core.errors import AirshedError
from airshed.kernels.abi import PARTS
from airshed.parallel.environment import REQUESTED_RANKS
from airshed.parallel.mpiexec import find_mpiexec

CONTROL, HALO, SUMS, IMBALANCE = "forcing and control", "halo", "sums", "imbalance"
SHARES = (*PARTS, CONTROL, HALO, SUMS, IMBALANCE)
"""Parts of the time of a run on ranks."""


@dataclass(frozen=True)
class Setup:
    """A case, its changed settings, and the number of ranks; ``size`` names its grid.

    independent  whether each rank runs the whole case by itself, at the same time as the others
    """

    case: str
    size: str
    ranks: int
    overrides: tuple[str, ...] = ()
    independent: bool = False


@dataclass(frozen=True)
class Spent:
    """Mean times of one rank in a step [s], the number of its cells, and the bytes that it sent in a step.

    parts       wall time inside the compiled step by part
    halo, sums  wall time of waiting for neighbours, and in collective calls
    busy        time of the thread on its core outside of both, which other programs do not lengthen
    calls       both times of each step; of batched steps their mean
    """

    columns: int
    levels: int
    species: int
    steps: int
    wall: float
    busy: float
    parts: dict[str, float]
    halo: float
    sums: float
    bytes: float
    calls: tuple[tuple[float, float], ...]

    @property
    def own(self) -> float:
        """Wall time of a step outside calls [s]."""
        return self.wall - self.halo - self.sums

    @classmethod
    def of(cls, raw: dict[str, Any]) -> Self:
        """Return the times per step from a worker's output for a rank."""
        steps = raw["steps"]
        busy = raw["cpu"] - raw["halo"]["cpu"] - raw["sums"]["cpu"]
        return cls(
            raw["columns"], raw["levels"], raw["species"], steps, raw["wall"] / steps, busy / steps,
            {name: seconds / steps for name, seconds in raw["parts"].items()},
            raw["halo"]["wall"] / steps, raw["sums"]["wall"] / steps, raw["bytes"] / steps,
            tuple((halo, sums) for halo, sums in raw["calls"]),
        )  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A run of a setup: the times of each rank."""

    setup: Setup
    ranks: tuple[Spent, ...]

    @property
    def wall(self) -> float:
        """Wall time of a step [s] of the slowest rank."""
        return max(rank.wall for rank in self.ranks)

    @property
    def busiest(self) -> float:
        """Core time of the busiest rank in a step, without communication [s]."""
        return max(rank.busy for rank in self.ranks)

    @property
    def imbalance(self) -> float:
        """Relative excess of the busiest rank's computation over the mean of ranks [1]."""
        return self.busiest / statistics.mean(rank.busy for rank in self.ranks) - 1.0

    @property
    def compute(self) -> float:
        """Core time of the compiled step [s], mean over the ranks."""
        return float(statistics.mean(rank.busy * sum(rank.parts.values()) / rank.own for rank in self.ranks))

    @property
    def control(self) -> float:
        """Core time outside the compiled step and calls [s], mean over the ranks."""
        return statistics.mean(rank.busy for rank in self.ranks) - self.compute

    @property
    def halo(self) -> float:
        """Cost of waiting for neighbours [s]: in the fastest step, of the rank that waits least."""
        return self._cost(0)

    @property
    def sums(self) -> float:
        """Cost of collective calls [s], as for the halo."""
        return self._cost(1)

    @property
    def cost(self) -> float:
        """Time of a step on cores without other programs [s]: that of the busiest rank and of calls."""
        return self.busiest + self.halo + self.sums

    def _cost(self, kind: int) -> float:
        return float(min(calls[kind] for rank in self.ranks for calls in rank.calls))

    @property
    def shares(self) -> dict[str, float]:
        """Shares of the undisturbed time of a step [1]; imbalance: computation of the busiest rank beyond the mean."""
        mean = {name: statistics.mean(rank.busy * rank.parts[name] / rank.own for rank in self.ranks) for name in PARTS}
        idle = self.busiest - statistics.mean(rank.busy for rank in self.ranks)
        seconds = mean | {CONTROL: self.control, HALO: self.halo, SUMS: self.sums, IMBALANCE: idle}
        return {name: value / self.cost for name, value in seconds.items()}


def measure(
    setups: Sequence[Setup], hours: float, rounds: int, progress: Callable[[str], None]
) -> dict[Setup, list[Run]]:
    """Run all setups once in each round; return the runs of each, by round."""
    runs: dict[Setup, list[Run]] = {setup: [] for setup in setups}
    for number in range(rounds):
        for setup in setups:
            progress(f"round {number + 1} of {rounds}: {setup.size} on {setup.ranks}")
            runs[setup].append(run_once(setup, hours))
    return runs


def run_once(setup: Setup, hours: float) -> Run:
    """Run one setup in separate processes; raises AirshedError with their message when they fail."""
    request = json.dumps(
        {"case": setup.case, "overrides": setup.overrides, "hours": hours, "independent": setup.independent}
    )
    command = [sys.executable, "-m", "benchmarks.scaling.worker", request]
    environment = dict(os.environ)
    if setup.ranks > 1:
        mpiexec = find_mpiexec()
        command = [*mpiexec.command(setup.ranks), *command]
        environment |= {**mpiexec.environment(), REQUESTED_RANKS: str(setup.ranks)}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode:
        message = (answer.stderr.strip() or answer.stdout.strip() or "nothing").splitlines()[-1]
        raise AirshedError(f"{setup.size} on {setup.ranks} ranks ended with code {answer.returncode}: {message}")
    return Run(setup, tuple(Spent.of(raw) for raw in json.loads(answer.stdout.splitlines()[-1])))


def ratio(one: Sequence[Run], other: Sequence[Run], of: str = "wall") -> float:
    """Return the ratio of times of two setups: the median over the rounds."""
    return float(statistics.median(getattr(a, of) / getattr(b, of) for a, b in zip(one, other, strict=True)))


def median(runs: Sequence[Run], of: str = "wall") -> float:
    """Return the median of a property over the rounds."""
    return float(statistics.median(getattr(run, of) for run in runs))
