"""One rank of the benchmark: ``python -m airshed.runtime.bench_redistribution.worker JOB``, started by `report`.

What all ranks are told comes by the environment, as JSON; rank 0 of the first job prints what was found, as JSON.
"""

import json
import os
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.errors import AirshedError
from airshed.parallel.communicator import Communicator, world
from airshed.parallel.redistribution.measure import timer_overhead
from airshed.parallel.redistribution.mpi import MpiMessages
from airshed.parallel.redistribution.shared_memory import SharedMemory
from airshed.parallel.redistribution.tcp import TwoJobs
from airshed.runtime.bench_redistribution.moves import ARRAYS, distributions, measured

if TYPE_CHECKING:
    from mpi4py import MPI

TOLD: Final = "AIRSHED_BENCH_REDISTRIBUTION"
_REPEATS: Final = 15


def within_one_world(ranks: Communicator) -> dict[str, Any]:
    """Return what messages and shared memory take, and raw copies and messages beside them."""
    handle = ranks.handle
    if handle is None:
        raise AirshedError("the redistribution needs two ranks")
    half = ranks.size // 2
    raw = [_raw(handle, name, half) for name in ARRAYS]
    moves, costs = [], {}
    for make in (MpiMessages, SharedMemory):
        transport = make(handle)
        apart, costs[transport.name] = measured(transport, "two", range(half), range(half, ranks.size))
        same, _ = measured(transport, "one", range(ranks.size), range(ranks.size))
        moves += [asdict(move) for move in apart + same]
        transport.close()
    return {"moves": moves, "costs": costs, "raw": raw, "timer": timer_overhead()}


def between_two_jobs(ranks: Communicator, job: int, told: dict[str, Any]) -> dict[str, Any]:
    """Return what TCP takes."""
    first, second = told["sizes"]
    with TwoJobs(job, (first, second), told["token"], ranks, port=told["port"]) as link:
        moves, costs = measured(link, "two", range(first), range(first, first + second))
    return {"moves": [asdict(move) for move in moves], "costs": {link.name: costs}}


def _raw(handle: "MPI.Intracomm", name: str, half: int) -> dict[str, Any]:
    """Return the least times of copying an array within a rank, and of sending it to another, one way [s]."""
    planes, _ = distributions(ARRAYS[name], range(1), range(1))
    array = np.ones(planes.nbytes // 8)
    other = np.ones_like(array)
    copies, messages = [], []
    for _ in range(_REPEATS if handle.Get_rank() == 0 else 0):
        began = time.perf_counter()
        np.copyto(other, array)
        copies.append(time.perf_counter() - began)
    for _ in range(_REPEATS):
        began = time.perf_counter()
        if handle.Get_rank() == 0:
            handle.Send(array, half)
            handle.Recv(other, half)
        elif handle.Get_rank() == half:
            handle.Recv(other, 0)
            handle.Send(other, 0)
        messages.append((time.perf_counter() - began) / 2.0)
    return {"array": name, "copy": min(copies, default=0.0), "message": min(messages)}


def main() -> None:
    """Measure what this rank's job was started for."""
    job, told = int(sys.argv[1]), json.loads(os.environ[TOLD])
    ranks = world()
    try:
        found = between_two_jobs(ranks, job, told) if told["two jobs"] else within_one_world(ranks)
    except AirshedError as error:
        sys.exit(f"airshed: error: {error}")
    if job == 0 and ranks.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
