"""Process of one rank of the benchmark: ``python -m benchmarks.redistribution.worker JOB``, started by `report`.

The request is JSON in the environment; rank 0 of the first job prints the results as JSON.
"""

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from math import prod
from typing import Any, Final

import numpy as np

from airshed.core.errors import AirshedError
from airshed.parallel.communicator import Communicator, world
from airshed.parallel.redistribution.costs import timer_overhead
from airshed.parallel.redistribution.redistribution import MpiMessages
from airshed.parallel.redistribution.shared_memory import SharedMemory
from airshed.parallel.redistribution.tcp import JobLink, TwoJobs
from benchmarks.redistribution.moves import measured

REQUEST: Final = "AIRSHED_BENCH_REDISTRIBUTION"
_REPEATS: Final = 15


def within_one_world(ranks: Communicator, request: dict[str, Any]) -> dict[str, Any]:
    """Return the times of messages and shared memory, and of raw copies and messages."""
    handle, half = ranks.handle, ranks.size // 2
    if handle is None:
        raise AirshedError("the redistribution needs two ranks")
    raw = [_raw(ranks, name, shape, half) for name, shape in request["arrays"].items()]
    moves, costs = [], {}
    for make in (MpiMessages, SharedMemory):
        transport = make(handle)
        apart, costs[transport.name] = measured(transport, "two", range(half), range(half, ranks.size), request)
        same, _ = measured(transport, "one", range(ranks.size), range(ranks.size), request)
        moves += [asdict(move) for move in apart + same]
        transport.close()
    return {"moves": moves, "costs": costs, "raw": raw, "timer": timer_overhead()}


def between_two_jobs(ranks: Communicator, job: int, request: dict[str, Any]) -> dict[str, Any]:
    """Return the times of TCP."""
    first, second = request["sizes"]
    with TwoJobs(job, (first, second), request["token"], ranks, JobLink(port=request["port"])) as link:
        moves, costs = measured(link, "two", range(first), range(first, first + second), request)
    return {"moves": [asdict(move) for move in moves], "costs": {link.name: costs}}


def _raw(ranks: Communicator, name: str, shape: Sequence[int], half: int) -> dict[str, Any]:
    """Return the least times of copying an array within a rank, and of sending it to another, one way [s]."""
    handle, array = ranks.handle, np.ones(prod(shape))
    assert handle is not None
    other = np.ones_like(array)
    copies, messages = [], []
    for _ in range(_REPEATS if ranks.rank == 0 else 0):
        began = time.perf_counter()
        np.copyto(other, array)
        copies.append(time.perf_counter() - began)
    for _ in range(_REPEATS):
        began = time.perf_counter()
        if ranks.rank == 0:
            handle.Send(array, half)
            handle.Recv(other, half)
        elif ranks.rank == half:
            handle.Recv(other, 0)
            handle.Send(other, 0)
        messages.append((time.perf_counter() - began) / 2.0)
    return {"array": name, "copy": min(copies, default=0.0), "message": min(messages)}


def main() -> None:
    """Measure the request of this rank's job."""
    job, request = int(sys.argv[1]), json.loads(os.environ[REQUEST])
    ranks = world()
    try:
        found = between_two_jobs(ranks, job, request) if "sizes" in request else within_one_world(ranks, request)
    except AirshedError as error:
        sys.exit(f"airshed: error: {error}")
    if job == 0 and ranks.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
