"""Work sharing: each free thread of a rank takes the next piece of a batch of steps from the queue of the rank.

Python side of ``backends/cpu/work_sharing.hpp``. The assignment of pieces to threads changes no bit.
"""

import ctypes
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import KernelError
from airshed.kernels import abi
from airshed.kernels.backends.cpu.argument_table import ArgumentTable
from airshed.kernels.backends.cpu.compiled import CompiledKernel
from airshed.kernels.host import address, aligned_zeros
from airshed.kernels.step.arguments import REACH, Side

LEAST_ROWS = 2
"""Rows of the smallest piece. A piece recomputes a row of faces, unless it starts at the end of the previous piece."""

Pieces = npt.NDArray[np.int64]
"""(piece, 4): first and last row, first and last block; as ``struct Piece`` of ``kernels/abi.py``."""


def guided(rows: int, threads: int) -> list[tuple[int, int]]:
    """Return pieces of rows by guided scheduling: large ones first, small ones at the end.

    A piece has remaining rows / (1.5 threads): few pieces, since each costs a row of faces, and a short final wait.
    """
    cuts = [0]
    while cuts[-1] < rows:
        left = rows - cuts[-1]
        cuts.append(cuts[-1] + min(left, max(LEAST_ROWS, round(left / (1.5 * threads)))))
    return list(pairwise(cuts))


def cut(rows: int, blocks: int, threads: int, sides: Collection[Side]) -> tuple[Pieces, Pieces]:
    """Return the inner pieces, and the pieces at sides with a neighbour: two rows or one block of each row."""
    south, north = min(REACH * ("south" in sides), rows), max(rows - REACH * ("north" in sides), 0)
    west, east = min(int("west" in sides), blocks), max(blocks - ("east" in sides), 0)
    if south >= north or west >= east:
        return _pieces([]), _pieces([(first, last, 0, blocks) for first, last in guided(rows, threads)])
    # with neighbours twice as many pieces, since the first thread drives the exchange between pieces
    several = guided(north - south, 2 * threads if sides else threads)
    inner = [(south + first, south + last, west, east) for first, last in several]
    # the north first: it continues at the end of the inner pieces if those span west to east
    outer = [(north, rows, 0, blocks), (0, south, 0, blocks), (south, north, 0, west), (south, north, east, blocks)]
    return _pieces(inner), _pieces([each for each in outer if each[0] < each[1] and each[2] < each[3]])


def _pieces(rectangles: list[tuple[int, int, int, int]]) -> Pieces:
    return np.array(rectangles, np.int64).reshape(-1, 4)


ALWAYS: Final = 2**62
"""Above the number of steps, or of waiting turns, of any run."""

_TURNS: Final = 16
"""Waiting turns of some microseconds after which the first thread drives the halo exchange."""

_QUEUE: Final = abi.structure(abi.STEP, "WorkQueue")
_SPENT: Final = abi.structure(abi.STEP, "Spent")


class StepQueue(Protocol):
    """Queue of the steps of an argument table, which are computed in order."""

    @property
    def steps(self) -> int:
        """The number of started steps."""
        ...

    @property
    def seconds(self) -> Array:
        """Wall time [s] of each of PARTS."""
        ...

    @property
    def waited(self) -> float:
        """Wall time [s] of waiting for the halo."""
        ...

    def edges_are_here(self) -> None:
        """Release the parts of a step that need the halo."""
        ...

    def work(self, count: int, between: Callable[[], None] | None = None) -> None:
        """Compute further prepared steps; `between` drives the halo exchange."""
        ...


class ThreadTeam:
    """Threads of a rank, with their queue of pieces of steps.

    table    ring of prepared steps
    pieces   of a step: inner pieces, and pieces that need the halo
    blocks   packs in a row of the tile
    threads  number of threads, including the caller;  pool  the other threads, None for none
    edges    whether the halo is exchanged: its pieces wait for :meth:`edges_are_here`
    """

    def __init__(
        self, kernel: CompiledKernel[Any, Any], table: ArgumentTable, pieces: tuple[Pieces, Pieces], blocks: int, *,
        threads: int, pool: ThreadPoolExecutor | None, edges: bool = False,
    ) -> None:  # fmt: skip
        self._functions, self._pool, self._pieces = kernel.functions, pool, np.concatenate(pieces)
        memory = aligned_zeros((ctypes.sizeof(_QUEUE),), np.uint8)
        self._queue = _QUEUE.from_buffer(memory.data)
        self._reference = address(memory)
        count = len(self._pieces)
        self._queue.taken, self._queue.pieces, self._queue.inner = count, count, len(pieces[0])
        self._queue.capacity, self._queue.steps = table.capacity, table.address
        self._queue.piece = address(self._pieces)
        self._queue.edges = 0 if edges else ALWAYS
        self._most = 1 if edges else ALWAYS
        size = kernel.functions.airshed_worker_bytes(blocks)
        self._memory = [aligned_zeros((size,), np.uint8) for _ in range(threads)]
        self._spent = [_SPENT.from_address(address(memory)) for memory in self._memory]

    @property
    def steps(self) -> int:
        """The number of started steps."""
        return int(self._queue.prepared)

    def edges_are_here(self) -> None:
        """Release the pieces that need the halo."""
        self._functions.airshed_edges_are_here(self._reference)

    def work(self, count: int, between: Callable[[], None] | None = None) -> None:
        """Compute further prepared steps.

        between  drives the halo exchange, after every piece and while waiting
        raises   KernelError if an earlier step was interrupted
        """
        if self._queue.given_up:
            raise KernelError("a step was interrupted, and its state is invalid; make a new model, or resume the run")
        self._queue.prepared += count
        patience = ALWAYS if between is None else _TURNS
        with self._helped():
            while not self._functions.airshed_work(self._reference, self._most, patience, address(self._memory[0])):
                assert between is not None
                between()

    @property
    def seconds(self) -> Array:
        """Wall time [s] of each of PARTS, summed over threads."""
        seconds: Array = np.array([list(each.seconds) for each in self._spent]).sum(axis=0)
        return seconds

    @property
    def waited(self) -> float:
        """Wall time [s] that the first thread has waited."""
        return float(self._spent[0].waited)

    @contextmanager
    def _helped(self) -> Iterator[None]:
        """Run the other threads; wait for them also after Ctrl-C, since they use memory of this object."""
        others = [] if self._pool is None else self._memory[1:]
        jobs = [self._submit(self._reference, ALWAYS, ALWAYS, address(memory)) for memory in others]
        try:
            yield
        except BaseException:
            self._functions.airshed_give_up(self._reference)
            raise
        finally:
            for job in jobs:
                if not job.cancel():  # a job that has not started has no work left
                    job.result()

    def _submit(self, *arguments: int) -> "Future[int]":
        assert self._pool is not None
        return self._pool.submit(self._functions.airshed_work, *arguments)
