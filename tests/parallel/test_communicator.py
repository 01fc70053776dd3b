"""What ranks wait for: how long, without what they did for others meanwhile."""

from typing import Any

import numpy as np
import pytest

from airshed.parallel import communicator
from airshed.parallel.communicator import MpiRanks


class Asked:
    """A request that is complete when it was asked about often enough."""

    def __init__(self, often: int) -> None:
        self._left = often

    def Test(self) -> bool:  # noqa: N802 - as MPI has it
        self._left -= 1
        return self._left < 0


class Handle:
    """A communicator of two ranks whose sums take a while."""

    def Get_rank(self) -> int:  # noqa: N802
        return 0

    def Get_size(self) -> int:  # noqa: N802
        return 2

    def Iallreduce(self, given: Any, result: Any, operation: Any) -> Asked:  # noqa: N802
        return Asked(4)


def test_what_is_computed_while_sums_are_waited_for_is_no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(communicator.time, "perf_counter", lambda: clock[0])

    def meanwhile() -> float:
        clock[0] += 3.0  # s, one of which is spent with looking for something to do
        return 2.0

    ranks = MpiRanks(Handle())  # type: ignore[arg-type]
    ranks.meanwhile = meanwhile
    ranks._started(np.ones(1, np.int64), None)()  # type: ignore[arg-type]
    assert clock == [12.0]
    assert ranks.wait == 4.0


def test_who_waits_for_long_sleeps_between_but_not_who_has_something_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, naps = [0.0], [0]

    def sleep(seconds: float) -> None:
        assert 0.0 < seconds < 1e-4
        naps[0] += 1

    def looks(often: int) -> int:
        naps[0] = 0
        ranks.until(Asked(often).Test)
        return naps[0]

    def meanwhile() -> float:
        clock[0] += 2.0**-13
        return busy[0]

    monkeypatch.setattr(communicator.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(communicator.time, "sleep", sleep)
    ranks, busy = MpiRanks(Handle()), [0.0]  # type: ignore[arg-type]
    ranks.meanwhile = meanwhile
    assert (looks(4), looks(104)) == (0, 100)
    busy[0] = 1e-4
    assert looks(104) == 0
