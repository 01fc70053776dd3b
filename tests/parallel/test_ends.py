"""The monitor reports the rank that ended first, regardless of later ends."""

import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from airshed.parallel.lost_ranks import RankMonitor, join_monitor

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="ends are watched on Linux alone")

RANK = "import sys; from airshed.parallel.lost_ranks import join_monitor; join_monitor(sys.argv[1], int(sys.argv[2])); "
WAITING = "print('here', flush=True); sys.stdin.read()"
COMING_TWICE = """
import fcntl, socket
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect(chr(0) + sys.argv[1])
other = fcntl.fcntl(line, fcntl.F_DUPFD, int(sys.argv[3]))
line.send(b"7"); line.recv(1); line.close()
"""
"""Opens a second socket, as MPI does; the monitor reports the one that closes first."""


@pytest.fixture
def ends() -> Iterator[RankMonitor]:
    with closing(RankMonitor()) as ends:
        yield ends


def process(ends: RankMonitor, rank: int, *arguments: str, program: str = "") -> "subprocess.Popen[bytes]":
    """Return a process that has registered as a rank, and waits."""
    line = [sys.executable, "-c", RANK + program + WAITING, ends.address, str(rank), *arguments]
    started = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert started.stdout is not None
    assert started.stdout.readline() == b"here\n"
    return started


def kill(process: "subprocess.Popen[bytes]") -> None:
    with process:
        process.kill()


@pytest.mark.parametrize("first", range(3))
def test_the_first_to_end_is_told(ends: RankMonitor, first: int) -> None:
    processes = [process(ends, rank) for rank in range(3)]
    assert ends.first() is None
    for rank in [first, *({0, 1, 2} - {first})]:
        kill(processes[rank])
        assert ends.first() == first
    ends.close()
    assert ends.first() is None


@pytest.mark.parametrize(("number", "told"), [(0, 1), (150, 1), (300, 7)], ids=["usual", "many files", "control"])
def test_an_end_is_told_before_an_mpi_can_know(ends: RankMonitor, number: int, told: int) -> None:
    kill(process(ends, 1, str(number), program=COMING_TWICE))
    assert ends.first() == told


def test_a_child_of_a_rank_does_not_hide_its_end(ends: RankMonitor) -> None:
    child = "import os, subprocess; subprocess.Popen(['cat'], close_fds=False); "  # it reads the rank's input
    with process(ends, 1, program=child) as parent:
        parent.kill()
        parent.wait()
        # The system lets the rank continue before its child has closed the inherited descriptors.
        until = time.monotonic() + 10.0
        while ends.first() is None and time.monotonic() < until:
            time.sleep(0.01)
        assert ends.first() == 1


def test_a_launcher_that_has_gone_is_not_waited_for(ends: RankMonitor) -> None:
    join_monitor("", 0)
    ends.close()
    join_monitor(ends.address, 0)
    assert ends.first() is None
