"""Process of a rank that advances a case with timers; ``measure`` starts it under mpiexec.

    mpiexec -n 2 python -m benchmarks.scaling.worker '{"case": "aqm-benchmark", "overrides": [], "hours": 1}'

The first rank prints a line of JSON, a list with the times of each rank. The wall time is that seen by a user. The
core time of the thread, minus its time in MPI calls (which spin while they wait), is the work of a rank.
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from airshed.kernels.host import AnyArray
from airshed.kernels.step.arguments import Neighbours, Side
from airshed.models.air.case import Case
from airshed.models.air.model import AirModel
from airshed.parallel.binding import bind
from airshed.parallel.communicator import Communicator, MpiRanks, SingleRank, world
from airshed.parallel.failure import failing_together
from airshed.runtime.clock import Clock
from airshed.runtime.locking import quick_turns


@dataclass
class Spent:
    """Wall time [s], core time of the thread [s], and number of calls."""

    wall: float = 0.0
    cpu: float = 0.0
    calls: int = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the time of the block."""
        wall, cpu = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            self.wall += time.perf_counter() - wall
            self.cpu += time.thread_time() - cpu
            self.calls += 1


class TimedRanks(MpiRanks):
    """Ranks whose waiting for each other's numbers is timed."""

    def __init__(self, handle: Any) -> None:
        super().__init__(handle)
        self.spent = Spent()

    def _combined(self, given: AnyArray, combine: np.ufunc) -> AnyArray:
        """Return the combined values of all ranks, timed."""
        with self.spent.counting():
            return super()._combined(given, combine)


class TimedMessages:
    """Timed exchange of a rank with its neighbours; satisfies ``Neighbours``."""

    def __init__(self, base: Neighbours) -> None:
        self._base, self.spent = base, Spent()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)

    def start(self, q: AnyArray) -> Mapping[Side, AnyArray]:
        """Start the exchange, timed."""
        with self.spent.counting():
            return self._base.start(q)

    def arrived(self) -> bool:
        """Return whether all messages have arrived, timed."""
        with self.spent.counting():
            return self._base.arrived()


@dataclass(frozen=True)
class Account:
    """Totals of one rank up to a moment: times [s], bytes of halos, steps."""

    steps: int
    wall: float
    cpu: float
    parts: dict[str, float]
    halo: Spent
    sums: Spent
    bytes: int

    def since(self, before: "Account") -> dict[str, Any]:
        """Return the difference to an earlier account, as JSON."""
        return {
            "steps": self.steps - before.steps, "wall": self.wall - before.wall, "cpu": self.cpu - before.cpu,
            "parts": {name: seconds - before.parts[name] for name, seconds in self.parts.items()},
            "halo": _minus(self.halo, before.halo), "sums": _minus(self.sums, before.sums),
            "bytes": self.bytes - before.bytes,
        }  # fmt: skip


class Rank:
    """A model on this rank's tile, with timers in all parts."""

    def __init__(self, case: Case, ranks: Communicator) -> None:
        self.ranks: Communicator = TimedRanks(ranks.handle) if isinstance(ranks, MpiRanks) else ranks
        self.model = AirModel(case, threads=1, ranks=self.ranks)
        self._messages = None
        if self.model.stepper.neighbours is not None:
            self._messages = self.model.stepper.neighbours = TimedMessages(self.model.stepper.neighbours)
        self.calls: list[tuple[float, float]] = []

    def account(self) -> Account:
        """Return the totals so far."""
        halo, waited = Spent(), self.model.stepper.waited  # awake
        if self._messages is not None:
            halo = Spent(waited + self._messages.spent.wall, waited + self._messages.spent.cpu, self.model.steps)
        return Account(
            self.model.steps, time.perf_counter(), time.thread_time(), dict(self.model.stepper.seconds),
            halo,
            Spent(**asdict(self.ranks.spent)) if isinstance(self.ranks, TimedRanks) else Spent(),
            int(getattr(self._messages, "bytes", 0)),
        )  # fmt: skip

    def advance(self, seconds: float, clock: Clock) -> None:
        """Step to a time [s], and store the times of waiting for neighbours and of collective calls in each step."""
        while self.model.seconds < seconds:
            before = self.account()
            ends = clock.next_steps(seconds, self.model.batch_limits.batch)
            self.model.step_through(ends)
            after = self.account()
            spent = (after.halo.wall - before.halo.wall, after.sums.wall - before.sums.wall)
            self.calls += [(spent[0] / len(ends), spent[1] / len(ends))] * len(ends)


def run(case: Case, hours: float, ranks: Communicator, *, independent: bool = False) -> dict[str, Any]:
    """Advance the case by a number of hours after its first step, which fills caches; return the times of this rank.

    independent  each rank runs the whole case, at the same time as the others
    """
    rank = Rank(case, SingleRank() if independent else ranks)
    end = 3600.0 * hours
    clock = Clock(rank.model, (), end)
    rank.model.step_through(clock.next_steps(end, 1))
    ranks.barrier()
    before = rank.account()
    with quick_turns():  # as in a simulation
        rank.advance(end, clock)
    spent = rank.account().since(before)
    ranks.barrier()
    levels, rows, columns = rank.model.grid.shape
    rank.model.close()
    held = {"columns": rows * columns, "levels": levels, "species": len(rank.model.network.species)}
    return {**held, **spent, "calls": rank.calls}


def _minus(one: Spent, other: Spent) -> dict[str, float]:
    return {"wall": one.wall - other.wall, "cpu": one.cpu - other.cpu, "calls": one.calls - other.calls}


def main(argument: str) -> None:
    """Run the request in JSON, and print the times of all ranks on the first one."""
    request, ranks = json.loads(argument), world()
    with failing_together(ranks, lambda error: (f"{type(error).__name__}: {error}", 1)):
        bind(ranks)
        case = Case.load(request["case"], request["overrides"])
        spent = ranks.gather(run(case, request["hours"], ranks, independent=request["independent"]))
    if spent is not None:
        print(json.dumps(spent), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
