"""Ranks as threads of one process, and worlds of ranks by mpiexec."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from threading import Thread

import numpy as np
import pytest
from tests.started import python

from airshed.parallel.redistribution import Plan, Redistribution
from airshed.parallel.redistribution.redistribution import Transport


class ThreadMessages(Transport):
    """Messages through queues, with copies, as a buffer may be overwritten."""

    name = "threads"

    def __init__(self, rank: int, boxes: dict[tuple[int, int], Queue]) -> None:
        self.rank, self.boxes = rank, boxes
        self.size = 1 + max(one for one, _ in boxes)

    def exchange(self, receives, sends):
        for receiver, buffer in sends:
            self.boxes[self.rank, receiver].put(buffer.copy())
        for number, (sender, buffer) in reversed(list(enumerate(receives))):
            np.copyto(buffer, self.boxes[sender, self.rank].get(timeout=10))
            yield number


def move_in_threads(plan: Plan, parts: dict[int, np.ndarray], repeats: int = 1) -> dict[int, np.ndarray]:
    """Execute a plan with each rank in its own thread; return the parts at the target."""
    boxes = {(one, other): Queue() for one in plan.ranks for other in plan.ranks}
    arrived, failures = {}, []

    def run(rank: int) -> None:
        try:
            mover = Redistribution(ThreadMessages(rank, boxes), plan)
            for _ in range(repeats):
                result = mover(parts.get(rank))
            if result is not None:
                arrived[rank] = result
        except Exception as error:
            failures.append(error)

    threads = [Thread(target=run, args=(rank,)) for rank in plan.ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return arrived


@pytest.fixture(scope="session")
def threads() -> Callable[..., dict[int, np.ndarray]]:
    return move_in_threads


def mpirun(ranks: int, program: str, *arguments: str) -> str:
    """Run a program on several ranks and return its output; its error fails the test."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("needs mpiexec next to python: pip install mpich")
    code = f"import sys; sys.path[:0] = {sys.path!r}\n{program}"
    command = [str(mpiexec), "-n", str(ranks), python(), "-c", code, *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PMI_", "MPI_"))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="session")
def world() -> Callable[..., str]:
    return mpirun
