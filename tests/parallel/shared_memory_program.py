"""Ranks make memory that they share, one after the other in all ways in which it can fail.

    mpiexec -n 3 python shared_memory_program.py

Prints what the first rank found, as JSON.
"""

import json
import os
from contextlib import contextmanager

from mpi4py import MPI

from airshed.parallel.same_machine import memory
from airshed.parallel.same_machine.memory import SharedMemory

HANDLE = MPI.COMM_WORLD
RANK = HANDLE.rank


@contextmanager
def instead(name, other):
    """Another function in the module for a while."""
    own = getattr(memory, name)
    setattr(memory, name, other)
    try:
        yield
    finally:
        setattr(memory, name, own)


def seen():
    """The team of each rank, and what it sees in the parts of its team once all have written in their own."""
    made = SharedMemory(HANDLE, 4096)
    if made.ranks:
        made.of(RANK)[:] = 10 + RANK
    HANDLE.Barrier()
    told = HANDLE.allgather((made.ranks, [int(made.of(rank)[-1]) for rank in made.ranks]))
    HANDLE.Barrier()
    return told


def main():
    open_before = len(os.listdir("/proc/self/fd"))
    found = {"all": seen()}
    with instead("machine", lambda: ("west" if RANK == 1 else "east",)):
        found["two machines"] = seen()
    with instead("opened_memory", (lambda *_: None) if RANK == 2 else memory.opened_memory):
        found["one cannot open it"] = seen()
    with instead("made_memory", (lambda *_: None) if RANK == 0 else memory.made_memory):
        found["it cannot be made"] = seen()
    found["left open"] = HANDLE.allgather(len(os.listdir("/proc/self/fd")) - open_before)
    if RANK == 0:
        print(json.dumps(found))


main()
