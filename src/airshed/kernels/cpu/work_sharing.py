"""Work sharing: the threads of a rank take piece after piece of a batch of steps, whoever is free the next one.

The other side of ``cpu/work_sharing.hpp``. Which thread computes a piece changes no bit.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import KernelError
from airshed.kernels.cpu.pieces import Pieces
from airshed.kernels.cpu.pipeline import MechanismKernel
from airshed.kernels.memory import address, aligned_zeros
from airshed.kernels.step.data import PARTS

Array = npt.NDArray[np.float64]

ALWAYS: Final = 2**62
"""More steps than there will be, or more turns of waiting."""

_TURNS: Final = 16
"""Turns of waiting, some microseconds each, after which the first thread sees to the neighbours' edges."""

_LINE: Final = 64  # bytes of a cache line


def _lines(number: int, names: Sequence[str]) -> list[tuple[str, type]]:
    """Numbers that begin on a cache line of their own, and what fills their last one up."""
    fields: list[tuple[str, type]] = [(name, ctypes.c_int64) for name in names]
    room = -8 * len(names) % _LINE
    return fields + ([(f"_room{number}", ctypes.c_char * room)] if room else [])


class WorkQueue(ctypes.Structure):
    """The steps that threads share; the meaning of each field stands in ``cpu/work_sharing.hpp``."""

    _fields_ = (
        *_lines(0, ["taken"]), *_lines(1, ["finished"]), *_lines(2, ["prepared", "edges", "given_up"]),
        ("pieces", ctypes.c_int64), ("inner", ctypes.c_int64), ("room", ctypes.c_int64),
        ("steps", ctypes.c_void_p), ("piece", ctypes.c_void_p),
    )  # fmt: skip


class _Spent(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_double * len(PARTS)), ("waited", ctypes.c_double))


class WorkSharing:
    """The threads of a rank, and the queue of steps that they share.

    steps, count   address of the ring of prepared steps, and how many it has room for: step n at n % count
    pieces, inner  of a step, and how many of them, the first ones, need no neighbour
    blocks   packs in a row of the tile
    threads  with the one that calls;  pool  the others; None for none
    edges    whether other pieces wait for :meth:`edges_are_here`, which the first thread looks after piece by piece
    """

    def __init__(
        self, kernel: MechanismKernel, steps: int, count: int, pieces: Pieces, inner: int, blocks: int, *,
        threads: int, pool: ThreadPoolExecutor | None, edges: bool = False,
    ) -> None:  # fmt: skip
        self._functions, self._pool, self._pieces = kernel.functions, pool, pieces
        memory = aligned_zeros((ctypes.sizeof(WorkQueue),), np.uint8)
        self._queue = WorkQueue.from_buffer(memory.data)
        self._reference = address(memory)
        self._queue.taken, self._queue.pieces, self._queue.inner = len(pieces), len(pieces), inner
        self._queue.room, self._queue.steps, self._queue.piece = count, steps, address(pieces)
        self._queue.edges = 0 if edges else ALWAYS
        self._most = 1 if edges else ALWAYS
        size = kernel.functions.airshed_worker_bytes(blocks)
        self._memory = [aligned_zeros((size,), np.uint8) for _ in range(threads)]
        self._spent = [_Spent.from_address(address(memory)) for memory in self._memory]

    @property
    def steps(self) -> int:
        """Steps that were begun so far."""
        return int(self._queue.prepared)

    def edges_are_here(self) -> None:
        """Let threads compute what needs the edges of neighbours."""
        self._functions.airshed_edges_are_here(self._reference)

    def work(self, count: int, between: Callable[[], None] | None = None) -> None:
        """Compute so many further steps, which are prepared.

        between  sees to the edges of neighbours, after every piece and while there is nothing to do
        raises   KernelError where an earlier step was broken off
        """
        if self._queue.given_up:
            raise KernelError("a step was broken off, and the state with it; make a new model, or resume the run")
        self._queue.prepared += count
        patience = ALWAYS if between is None else _TURNS
        with self._helped():
            while not self._functions.airshed_work(self._reference, self._most, patience, address(self._memory[0])):
                assert between is not None
                between()

    @property
    def seconds(self) -> Array:
        """Wall time [s] of each of PARTS, added up over threads."""
        seconds: Array = np.array([list(each.seconds) for each in self._spent]).sum(axis=0)
        return seconds

    @property
    def waited(self) -> float:
        """Wall time [s] in which the first thread had nothing to do."""
        return float(self._spent[0].waited)

    @contextmanager
    def _helped(self) -> Iterator[None]:
        """Let the other threads work, and wait for them, also after Ctrl-C: what they look at must not go first."""
        others = [] if self._pool is None else self._memory[1:]
        jobs = [self._submit(self._reference, ALWAYS, ALWAYS, address(memory)) for memory in others]
        try:
            yield
        except BaseException:
            self._functions.airshed_give_up(self._reference)
            raise
        finally:
            for job in jobs:
                if not job.cancel():  # a thread that was busy with something else all the time has nothing left to do
                    job.result()

    def _submit(self, *arguments: int) -> "Future[int]":
        assert self._pool is not None
        return self._pool.submit(self._functions.airshed_work, *arguments)
