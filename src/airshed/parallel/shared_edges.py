"""Edges of the state in memory that ranks of one machine share: one copy, no message.

Each rank has a stretch of memory that its neighbours can read, with room for two exchanges that take turns. It copies
its edges there and raises a flag; the neighbour waits for the flag and computes straight from there. Room for two is
enough: a rank that begins exchange n + 2 has seen its neighbours' flags n + 1, which they raised when they had
computed with what it gave in exchange n.

The memory has no name and belongs to no file system: it goes with the last process that has it, however that ends.
Another process opens it by way of /proc. Where that cannot be (another machine, another container, not Linux) the two
ranks send each other messages instead, see :mod:`airshed.parallel.halo`.
"""

import mmap
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from airshed.kernels.flags import CompiledFlags, Flag
from airshed.kernels.layout import ALIGNMENT, AnyArray
from airshed.kernels.pieces import REACH, SIDES, Side
from airshed.parallel.decomposition import OPPOSITE, Decomposition

if TYPE_CHECKING:
    from mpi4py import MPI

TURNS: Final = 2
"""Exchanges that there is room for."""

_HEADER: Final = 2 * ALIGNMENT
_TOKEN_BYTES: Final = 16
_TOKEN: Final = slice(ALIGNMENT, ALIGNMENT + _TOKEN_BYTES)  # beside the cache line of the flag, which others look at
_TAG: Final = 16  # beside those of messages by side


@dataclass(frozen=True)
class Whereabouts:
    """Where a process has its stretch of memory, and what stands in it, so that no other one is taken for it."""

    machine: tuple[str, ...]
    process: int
    file: int
    token: bytes


def edge_shapes(decomposition: Decomposition, rank: int, middle: tuple[int, int]) -> dict[Side, tuple[int, ...]]:
    """Return the shapes of what a rank shows its neighbours: two rows of packs, or the packs of one column of them.

    middle  species and levels
    """
    tile = decomposition.tile(rank)
    rows, blocks = (last - first for first, last in (tile.rows, tile.blocks))
    shapes: dict[Side, tuple[int, ...]] = {
        "west": (rows, *middle, decomposition.width), "east": (rows, *middle, decomposition.width),
        "south": (REACH, blocks, *middle, decomposition.width), "north": (REACH, blocks, *middle, decomposition.width),
    }  # fmt: skip
    return {side: shapes[side] for side in SIDES if decomposition.neighbour(rank, side) is not None}


@dataclass(frozen=True)
class Stretch:
    """A rank's memory that neighbours can read: a flag, and its edges on each side, by turns."""

    flag: Flag
    edges: Mapping[Side, tuple[AnyArray, ...]]

    @classmethod
    def of(cls, memory: mmap.mmap, shapes: Mapping[Side, tuple[int, ...]], dtype: type[np.floating]) -> Self:
        """Return what lies where."""
        flag = np.frombuffer(memory, np.int64, 1)
        at, edges = _HEADER, {}
        for side, shape in shapes.items():
            each = []
            for _ in range(TURNS):
                each.append(np.frombuffer(memory, dtype, prod(shape), at).reshape(shape))
                at += _room(shape, dtype)
            edges[side] = tuple(each)
        return cls(flag, edges)


class SharedEdges:
    """One rank's end of the exchange with those of its neighbours that it shares memory with.

    neighbours  ranks of all neighbours by side
    beyond      what those of them show on their sides, one array for each turn;  it is there after :meth:`finish`
    """

    def __init__(
        self, handle: "MPI.Intracomm", decomposition: Decomposition, middle: tuple[int, int],
        dtype: type[np.floating], flags: CompiledFlags, neighbours: Mapping[Side, int],
    ) -> None:  # fmt: skip
        self._handle, self._flags = handle, flags
        shapes = {rank: edge_shapes(decomposition, rank, middle) for rank in (handle.Get_rank(), *neighbours.values())}
        own = shapes[handle.Get_rank()]
        memory, file = _new_memory(_size(own, dtype))
        try:
            here = Whereabouts(_machine(), os.getpid(), file, secrets.token_bytes(_TOKEN_BYTES))
            _sign(memory, here)
            told: dict[Side, Whereabouts] = _exchanged(handle, neighbours, here)
            seen = {}
            for side, rank in neighbours.items():
                theirs = _opened(here, told[side], _size(shapes[rank], dtype))
                if theirs is not None:
                    seen[side] = Stretch.of(theirs, shapes[rank], dtype)
            agreed = _exchanged(handle, neighbours, {OPPOSITE[side]: side in seen for side in neighbours})
        finally:
            os.close(file)  # neighbours have opened it by now, or will not
        near = [side for side in seen if agreed[side][side]]
        self.beyond = {side: seen[side].edges[OPPOSITE[side]] for side in near}
        self._theirs = [seen[side].flag for side in near]
        self._own = Stretch.of(memory, own, dtype)

    def start(self, q: AnyArray, number: int) -> None:
        """Show the edges of the mixing ratios in the exchange of a number, which count from 1."""
        turn = number % TURNS
        for side in self.beyond:
            copy_edge(q, side, self._own.edges[side][turn])
        self._flags.raise_to(self._own.flag, number)

    def progress(self) -> None:
        """Let MPI see to the messages of others, which those who are late may wait for."""
        self._handle.Iprobe()

    def finish(self, number: int) -> None:
        """Return when the neighbours show their edges."""
        for flag in self._theirs:
            while not self._flags.reached(flag, number):
                self.progress()


def copy_edge(q: AnyArray, side: Side, there: AnyArray) -> None:
    """Copy the edge of packed mixing ratios on one side to where a neighbour's kernel expects it: rows, or lanes."""
    if side == "south":
        there[...] = q[:REACH]
    elif side == "north":
        there[...] = q[-REACH:]
    elif side == "west":
        there[..., :REACH] = q[:, 0, ..., :REACH]
    else:
        there[..., -REACH:] = q[:, -1, ..., -REACH:]


def _size(shapes: Mapping[Side, tuple[int, ...]], dtype: type[np.floating]) -> int:
    return _HEADER + TURNS * sum(_room(shape, dtype) for shape in shapes.values())


def _room(shape: tuple[int, ...], dtype: type[np.floating]) -> int:
    size = prod(shape) * np.dtype(dtype).itemsize
    return -(-size // ALIGNMENT) * ALIGNMENT


def _new_memory(size: int) -> tuple[mmap.mmap, int]:
    """Return memory of zeros, and a file by which others can open it, where the system has such files."""
    if not hasattr(os, "memfd_create"):
        return mmap.mmap(-1, size), os.open(os.devnull, os.O_RDONLY)
    file = os.memfd_create("airshed-edges")
    os.ftruncate(file, size)
    return mmap.mmap(file, size), file


def _machine() -> tuple[str, ...]:
    """What tells apart machines, and containers in which other processes have the same numbers."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return boot, os.readlink("/proc/self/ns/pid")
    except OSError:
        return (secrets.token_hex(),)  # like no other


def _opened(here: Whereabouts, there: Whereabouts, size: int) -> mmap.mmap | None:
    """The memory of another process, to be read; None where it cannot be had."""
    if here.machine != there.machine:
        return None
    try:
        file = os.open(f"/proc/{there.process}/fd/{there.file}", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if os.fstat(file).st_size != size:
            return None
        memory = mmap.mmap(file, size, access=mmap.ACCESS_READ)
        return memory if memory[_TOKEN] == there.token else None
    except OSError:
        return None
    finally:
        os.close(file)


def _sign(memory: mmap.mmap, whereabouts: Whereabouts) -> None:
    memory[_TOKEN] = whereabouts.token


def _exchanged(handle: "MPI.Intracomm", neighbours: Mapping[Side, int], value: Any) -> dict[Side, Any]:
    """Tell all neighbours something, and return what they told."""
    sent = [handle.isend(value, rank, _TAG) for rank in neighbours.values()]
    told = {side: handle.recv(source=rank, tag=_TAG) for side, rank in neighbours.items()}
    for each in sent:
        each.wait()
    return told
