"""One of several ranks that advance a case and time themselves; ``measure`` starts it under mpiexec.

    mpiexec -n 2 python -m benchmarks.scaling.worker '{"case": "aqm-benchmark", "overrides": [], "hours": 1}'

The first rank prints one line of JSON, a list with what each rank spent. Wall time says what a user waits for; the time
of the thread on its core, less what it spent in calls of MPI (which spin while they wait), what a rank has to do.
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
    """Wall time [s], time of the thread on a core [s], and how often."""

    wall: float = 0.0
    cpu: float = 0.0
    calls: int = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the time of what is done inside."""
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
        """See :class:`MpiRanks`."""
        with self.spent.counting():
            return super()._combined(given, combine)


class TimedMessages:
    """The exchange of a rank with its neighbours, timed; satisfies ``Neighbours``."""

    def __init__(self, base: Neighbours) -> None:
        self._base, self.spent = base, Spent()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)

    def start(self, q: AnyArray) -> Mapping[Side, AnyArray]:
        """See the base."""
        with self.spent.counting():
            return self._base.start(q)

    def arrived(self) -> bool:
        """See the base."""
        with self.spent.counting():
            return self._base.arrived()


@dataclass(frozen=True)
class Account:
    """What one rank has spent up to a moment: times [s], bytes of halos, steps."""

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
    """A model on this rank's tile, with everything timed."""

    def __init__(self, case: Case, ranks: Communicator) -> None:
        self.ranks: Communicator = TimedRanks(ranks.handle) if isinstance(ranks, MpiRanks) else ranks
        self.model = AirModel(case, threads=1, ranks=self.ranks)
        self._messages = None
        if self.model.stepper.neighbours is not None:
            self._messages = self.model.stepper.neighbours = TimedMessages(self.model.stepper.neighbours)
        self.calls: list[tuple[float, float]] = []

    def account(self) -> Account:
        """Return what was spent so far."""
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
        """Step to a time [s], and keep what each step spent in waiting for neighbours and in collective calls."""
        while self.model.seconds < seconds:
            before = self.account()
            ends = clock.next_steps(seconds, self.model.batch_limits.batch)
            self.model.step_through(ends)
            after = self.account()
            spent = (after.halo.wall - before.halo.wall, after.sums.wall - before.sums.wall)
            self.calls += [(spent[0] / len(ends), spent[1] / len(ends))] * len(ends)


def run(case: Case, hours: float, ranks: Communicator, *, apart: bool = False) -> dict[str, Any]:
    """Advance the case by so many hours after its first step, which fills caches; return what this rank spent.

    apart  each rank all of the case, at the same time
    """
    rank = Rank(case, SingleRank() if apart else ranks)
    end = 3600.0 * hours
    clock = Clock(rank.model, (), end)
    rank.model.step_through(clock.next_steps(end, 1))
    ranks.barrier()
    before = rank.account()
    with quick_turns():  # as a simulation has it
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
    """Do what the JSON asks for, and let the first rank print what all spent."""
    asked, ranks = json.loads(argument), world()
    with failing_together(ranks, lambda error: (f"{type(error).__name__}: {error}", 1)):
        bind(ranks)
        case = Case.load(asked["case"], asked["overrides"])
        spent = ranks.gather(run(case, asked["hours"], ranks, apart=asked["apart"]))
    if spent is not None:
        print(json.dumps(spent), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
