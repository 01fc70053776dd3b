"""Runs a case on several numbers of ranks, in turn, and keeps what each rank spent.

A machine that others share changes its speed from minute to minute. So every round runs all setups once, one after the
other; ratios are taken inside a round, and their median over the rounds is reported.
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
"""Where the time of a run on ranks goes."""


@dataclass(frozen=True)
class Setup:
    """A case, how it differs from the shipped one, and on how many ranks; ``size`` names its grid.

    apart  whether each rank runs all of the case by itself, at the same time as the others
    """

    case: str
    size: str
    ranks: int
    overrides: tuple[str, ...] = ()
    apart: bool = False


@dataclass(frozen=True)
class Spent:
    """What one rank spent in a step [s], on average; what it holds, and the bytes that it sent in a step.

    parts       wall time inside the compiled step by part
    halo, sums  wall time of waiting for what neighbours hold, and in collective calls
    busy        time of the thread on its core outside of both, which other programs do not lengthen
    calls       of each step both of these; of steps that are made at once their mean
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
        """Return what a worker printed of a rank, for one step."""
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
    """One run of a setup: what each rank spent."""

    setup: Setup
    ranks: tuple[Spent, ...]

    @property
    def wall(self) -> float:
        """Wall time of a step [s]: of the rank that took longest."""
        return max(rank.wall for rank in self.ranks)

    @property
    def busiest(self) -> float:
        """Time on its core that the busiest rank needs for a step, communication left out [s]."""
        return max(rank.busy for rank in self.ranks)

    @property
    def imbalance(self) -> float:
        """How much longer the busiest rank computes than the ranks do on average [1]."""
        return self.busiest / statistics.mean(rank.busy for rank in self.ranks) - 1.0

    @property
    def compute(self) -> float:
        """Time on its core that a rank needs for the compiled step [s], mean over the ranks."""
        return float(statistics.mean(rank.busy * sum(rank.parts.values()) / rank.own for rank in self.ranks))

    @property
    def control(self) -> float:
        """Time on its core that a rank needs for all else but calls [s], mean over the ranks."""
        return statistics.mean(rank.busy for rank in self.ranks) - self.compute

    @property
    def halo(self) -> float:
        """What waiting for neighbours costs [s]: in the quickest step, of the rank that waits least."""
        return self._cost(0)

    @property
    def sums(self) -> float:
        """What collective calls cost [s], as the halo's."""
        return self._cost(1)

    @property
    def cost(self) -> float:
        """What a step would take on cores without other programs [s]: the busiest rank's time and that of calls."""
        return self.busiest + self.halo + self.sums

    def _cost(self, kind: int) -> float:
        return float(min(calls[kind] for rank in self.ranks for calls in rank.calls))

    @property
    def shares(self) -> dict[str, float]:
        """Where the undisturbed time of a step goes [1]; imbalance: what the busiest rank computes beyond the mean."""
        mean = {name: statistics.mean(rank.busy * rank.parts[name] / rank.own for rank in self.ranks) for name in PARTS}
        idle = self.busiest - statistics.mean(rank.busy for rank in self.ranks)
        seconds = mean | {CONTROL: self.control, HALO: self.halo, SUMS: self.sums, IMBALANCE: idle}
        return {name: value / self.cost for name, value in seconds.items()}


def measure(
    setups: Sequence[Setup], hours: float, rounds: int, progress: Callable[[str], None]
) -> dict[Setup, list[Run]]:
    """Run all setups once in each round; returns the runs of each, by round."""
    runs: dict[Setup, list[Run]] = {setup: [] for setup in setups}
    for number in range(rounds):
        for setup in setups:
            progress(f"round {number + 1} of {rounds}: {setup.size} on {setup.ranks}")
            runs[setup].append(run_once(setup, hours))
    return runs


def run_once(setup: Setup, hours: float) -> Run:
    """Run one setup in processes of its own; raises AirshedError with what they said when they fail."""
    asked = json.dumps({"case": setup.case, "overrides": setup.overrides, "hours": hours, "apart": setup.apart})
    command = [sys.executable, "-m", "benchmarks.scaling.worker", asked]
    environment = dict(os.environ)
    if setup.ranks > 1:
        mpiexec = find_mpiexec()
        command = [*mpiexec.command(setup.ranks), *command]
        environment |= {**mpiexec.environment(), REQUESTED_RANKS: str(setup.ranks)}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode:
        said = (answer.stderr.strip() or answer.stdout.strip() or "nothing").splitlines()[-1]
        raise AirshedError(f"{setup.size} on {setup.ranks} ranks ended with code {answer.returncode}: {said}")
    return Run(setup, tuple(Spent.of(raw) for raw in json.loads(answer.stdout.splitlines()[-1])))


def ratio(one: Sequence[Run], other: Sequence[Run], of: str = "wall") -> float:
    """Return how many times as long one setup took as another: the median over rounds."""
    return float(statistics.median(getattr(a, of) / getattr(b, of) for a, b in zip(one, other, strict=True)))


def median(runs: Sequence[Run], of: str = "wall") -> float:
    """Return the median of a property over the rounds."""
    return float(statistics.median(getattr(run, of) for run in runs))
