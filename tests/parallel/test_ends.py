"""The process that ended first is told, however many ended since."""

import subprocess
import sys

import pytest

from airshed.parallel.ends import Ends


@pytest.mark.parametrize("first", range(3))
def test_the_first_to_end_is_told(first):
    waiting = "import sys; sys.stdin.read()"
    processes = [subprocess.Popen([sys.executable, "-c", waiting], stdin=subprocess.PIPE) for _ in range(3)]
    ends = Ends()
    for rank, process in enumerate(processes):
        ends.watch(rank, process.pid)
    assert ends.first() is None
    for rank in [first, *({0, 1, 2} - {first})]:
        processes[rank].kill()
        processes[rank].wait()
        processes[rank].stdin.close()
    assert ends.first() == first
    ends.close()
    assert ends.first() is None


def test_a_process_that_is_not_there_is_not_watched():
    ends = Ends()
    ends.watch(0, 2**22 + 1)
    assert ends.first() is None
    ends.close()
