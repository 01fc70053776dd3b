"""Writes and reads arrays in the memory of other ranks of the machine.

    mpiexec -n 3 python machine_memory_program.py

Prints what all ranks saw, as JSON, by name of what was looked at.
"""

import ctypes
import gc
import json
import os
from contextlib import contextmanager

import numpy as np
from mpi4py import MPI

from airshed.kernels.step_arguments import address
from airshed.parallel import machine_memory
from airshed.parallel.machine_memory import HEAD, MachineMemory

HANDLE = MPI.COMM_WORLD
RANK = HANDLE.Get_rank()
SHAPE = (50, 7, 8)


def there(memory, rank, at, shape, dtype):
    """The array that a rank has at an address of its own."""
    here = at + memory.shift(rank)
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    assert memory.begin(rank) + HEAD <= here <= memory.begin(rank) + memory.size - size
    assert memory.reach[0] <= here < sum(memory.reach)
    return np.frombuffer((ctypes.c_char * size).from_address(here), dtype).reshape(shape)


def changed_by_all():
    """Each rank numbers its array, all multiply one after the other, and everybody looks at all of them."""
    memory = MachineMemory(HANDLE, HEAD + 40_000 + RANK)
    own = memory.zeros(SHAPE, np.float64)
    own[...] = np.arange(own.size).reshape(SHAPE) + RANK
    places = HANDLE.allgather(address(own))
    for turn in memory.team:
        if turn == RANK:
            for rank, at in enumerate(places):
                there(memory, rank, at, SHAPE, np.float64)[...] *= 10 + turn
        HANDLE.Barrier()
    expected = [(np.arange(own.size).reshape(SHAPE) + rank) * 10 * 11 * 12 for rank in memory.team]
    right = [
        bool((there(memory, rank, places[rank], SHAPE, np.float64) == expected[rank]).all()) for rank in memory.team
    ]
    mine = bool((own == expected[RANK]).all())
    HANDLE.Barrier()
    memory.close()
    return [memory.team, memory.size, memory.whole, right, mine]


def heads():
    """Each rank leaves its number in all heads, which were zero."""
    memory = MachineMemory(HANDLE, 0)
    views = [np.ctypeslib.as_array((ctypes.c_int64 * 512).from_address(memory.begin(rank))) for rank in memory.team]
    zero = not any(view.any() for view in views)
    HANDLE.Barrier()
    for view in views:
        view[RANK] = RANK + 1
    HANDLE.Barrier()
    return [zero, [view[:4].tolist() for view in views]]


def alive_when_all_is_closed():
    """Arrays outlive the memory in which they lie, on this rank and for the others."""
    memory = MachineMemory(HANDLE, 100_000)
    own = memory.zeros(SHAPE, np.float32)
    own[...] = RANK
    memory.close()
    del memory
    gc.collect()
    HANDLE.Barrier()
    return bool((own == RANK).all())


@contextmanager
def instead(owner, name, value):
    before = getattr(owner, name)
    setattr(owner, name, value)
    yield
    setattr(owner, name, before)


def used_alone():
    memory = MachineMemory(HANDLE, 100_000)
    own = memory.zeros(SHAPE, np.float64)
    own[...] = RANK
    HANDLE.Barrier()
    return [memory.team, memory.whole, memory.reach[0] <= address(own) < sum(memory.reach), bool((own == RANK).all())]


def one_cannot_open():
    refused = (lambda *_: None) if RANK == 2 else machine_memory._opened
    with instead(machine_memory, "_opened", refused):
        return used_alone()


def first_cannot_make():
    refused = (lambda *_: None) if RANK == 0 else machine_memory._made
    with instead(machine_memory, "_made", refused):
        return used_alone()


def two_machines():
    with instead(machine_memory, "_machine", lambda: ("west" if RANK == 1 else "east",)):
        return used_alone()


def files_left_open():
    """How many files a rank has more than before it made memory and closed it."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        MachineMemory(HANDLE, 10_000).close()
    gc.collect()
    return len(os.listdir("/proc/self/fd")) - before


def named():
    """What of it stands in a file system."""
    memory = MachineMemory(HANDLE, 10_000)
    names = [name for name in os.listdir("/dev/shm") if "airshed" in name]
    HANDLE.Barrier()
    memory.close()
    return names


LOOKED_AT = (changed_by_all, heads, alive_when_all_is_closed, one_cannot_open, first_cannot_make, two_machines,
             files_left_open, named)  # fmt: skip

seen = {each.__name__: HANDLE.gather(each()) for each in LOOKED_AT}
if RANK == 0:
    print(json.dumps(seen))
