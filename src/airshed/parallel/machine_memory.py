"""Memory that the ranks of one machine share: each has a stretch for its arrays, and reads and writes those of others.

All stretches of a machine lie in one file without a name, which its first rank makes and the others open by way of
/proc; it goes with the last process that has it, however that ends. Where that cannot be (another machine, another
container, not Linux) a rank has its stretch to itself.
"""

import mmap
import os
import secrets
import weakref
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from airshed.kernels.layout import ALIGNMENT, PRIVATE, AnyArray
from airshed.kernels.step_arguments import address

if TYPE_CHECKING:
    from mpi4py import MPI

HEAD: Final = 4096
"""Bytes at the beginning of each stretch, at least, in which no array lies: for what ranks tell each other."""

_TOKEN_BYTES: Final = 16


@dataclass(frozen=True)
class Whereabouts:
    """Where a process has the memory of its machine, and what stands behind it, so that no other is taken for it."""

    process: int
    file: int
    token: bytes


class Stretch:
    """Arrays in a part of a mapping; where one has gone with all views of it, others of its size can lie.

    first, last  [bytes] where in the mapping it begins and ends; untouched so far, that is zero
    whole        whether all arrays asked for so far found room here; the others lie in memory of this process alone
    """

    def __init__(self, mapping: mmap.mmap, first: int, last: int) -> None:
        self._mapping: mmap.mmap | None = mapping
        self._next, self._last = first, last
        self._left: dict[int, list[int]] = {}  # rooms that arrays have left, by their size
        self._lock = Lock()
        self.whole = True

    def zeros(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
        """Return an array of zeros; its pages are touched by who writes it first, unless others lay there."""
        found = self._array(shape, dtype)
        if found is None:
            return PRIVATE.zeros(shape, dtype)
        array, used = found
        if used:
            array.fill(0)
        return array

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
        """Return an array to be written."""
        found = self._array(shape, dtype)
        return PRIVATE.empty(shape, dtype) if found is None else found[0]

    def close(self) -> None:
        """Give up the mapping, which stays as long as arrays in it; those asked for later are of this process alone."""
        with self._lock:
            self._mapping = None

    def _array(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> tuple[AnyArray, bool] | None:
        """Return an array, and whether others lay there before; None where there is no room.

        What goes of an array may go at any time, also within this function: it appends to a list and needs no lock.
        """
        count = prod(shape)
        room = -(-max(count * np.dtype(dtype).itemsize, 1) // ALIGNMENT) * ALIGNMENT
        with self._lock:
            mapping, left = self._mapping, self._left.setdefault(room, [])
            used = bool(left)
            if mapping is None or not (used or self._next + room <= self._last):
                self.whole = False
                return None
            at = left.pop() if used else self._next
            self._next += 0 if used else room
        flat = np.frombuffer(mapping, dtype, count, at)  # which all views hold, and which holds the mapping
        weakref.finalize(flat, left.append, at).atexit = False
        return flat.reshape(shape), used


class MachineMemory:
    """A stretch of memory of this rank that all ranks of its machine can read and write; a ``kernels.layout.Memory``.

    A room is used again once its array has gone from this rank, whoever else still looks into it: ranks see to it that
    none does. Addresses hold until :meth:`close`.

    team   ranks that share memory with this one, itself among them, rising; itself alone where sharing is not possible
    size   [bytes] of each stretch, with its head
    reach  first address and number of bytes of all stretches of the machine in this process
    """

    def __init__(self, handle: "MPI.Intracomm", size: int, head: int = HEAD) -> None:
        """Make it, all ranks of the communicator together.

        size  [bytes] of a stretch, its head included; the greatest of all ranks counts, in whole pages
        head  [bytes] of a head, the same for all ranks
        """
        own = handle.Get_rank()
        told: list[tuple[tuple[str, ...], int]] = handle.allgather((_machine(), size))
        self.size = -(-max(head, *(asked for _, asked in told)) // mmap.PAGESIZE) * mmap.PAGESIZE
        self.team = tuple(rank for rank, (machine, _) in enumerate(told) if machine == told[own][0])
        shared = _shared(handle, self.team, self.size)
        if shared is None:
            self.team = (own,)
            mapping, self.size = _own_mapping(self.size)
            shared = mapping, {own: _first_address(mapping)}
        mapping, firsts = shared
        with suppress(AttributeError, OSError):
            mapping.madvise(mmap.MADV_HUGEPAGE)  # as NumPy does for its arrays
        self.reach = firsts[own], len(self.team) * self.size
        self._shifts = {rank: firsts[own] - firsts[rank] for rank in self.team}
        at = self.team.index(own) * self.size
        self._mapping: mmap.mmap | None = mapping
        self._head = min(head, self.size)
        self._stretch = Stretch(mapping, at + self._head, at + self.size)

    @property
    def whole(self) -> bool:
        """Whether all arrays asked for so far found room in the stretch; the others lie in memory of this process."""
        return self._stretch.whole

    def zeros(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
        """Return an array of zeros in the stretch of this rank."""
        return self._stretch.zeros(shape, dtype)

    def empty(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> AnyArray:
        """Return an array in the stretch of this rank, to be written."""
        return self._stretch.empty(shape, dtype)

    def heads(self) -> npt.NDArray[np.uint8]:
        """Return the heads of all stretches of the machine, which are not closed: (rank of the team, byte)."""
        assert self._mapping is not None
        count = len(self.team)
        return np.frombuffer(self._mapping, np.uint8, count * self.size).reshape(count, self.size)[:, : self._head]

    def begin(self, rank: int) -> int:
        """Return the address in this process at which the stretch of a rank of the team begins, with its head."""
        return self.reach[0] + self.team.index(rank) * self.size

    def shift(self, rank: int) -> int:
        """Return what to add to an address in the process of a rank of the team for that of the same byte here."""
        return self._shifts[rank]

    def close(self) -> None:
        """Give up the memory, which stays as long as arrays in it; those asked for later are of this process alone."""
        self._stretch.close()
        self._mapping = None


def _own_mapping(size: int) -> tuple[mmap.mmap, int]:
    """Memory of this process and its size: that of a head where the system does not give as much."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    try:
        return mmap.mmap(-1, size, flags=flags), size
    except OSError:
        return mmap.mmap(-1, mmap.PAGESIZE, flags=flags), mmap.PAGESIZE


def _shared(handle: "MPI.Intracomm", team: tuple[int, ...], size: int) -> tuple[mmap.mmap, dict[int, int]] | None:
    """The memory of a team, and where it begins in each process; None where not all of them have it."""
    own, length = handle.Get_rank(), len(team) * size
    made = _made(length) if own == team[0] and len(team) > 1 else None
    mapping, here = made or (None, None)
    try:
        there: Whereabouts | None = handle.allgather(here)[team[0]]
        if there is not None and here is None:
            mapping = _opened(there, length)
        firsts = handle.allgather(None if mapping is None else _first_address(mapping))
    finally:
        if here is not None:
            os.close(here.file)  # the others have opened it by now, or will not
    if mapping is None or any(firsts[rank] is None for rank in team):
        return None
    return mapping, {rank: firsts[rank] for rank in team}


def _made(length: int) -> tuple[mmap.mmap, Whereabouts] | None:
    """Memory of zeros, of which pages exist once they are touched, and how others find it; a page with a token behind.

    None where the system has none without a name, or not as much.
    """
    if not hasattr(os, "memfd_create"):
        return None
    try:
        file = os.memfd_create("airshed")
    except OSError:
        return None
    try:
        os.ftruncate(file, length + mmap.PAGESIZE)
        here = Whereabouts(os.getpid(), file, secrets.token_bytes(_TOKEN_BYTES))
        os.pwrite(file, here.token, length)
        return mmap.mmap(file, length), here
    except OSError:
        os.close(file)
        return None


def _opened(there: Whereabouts, length: int) -> mmap.mmap | None:
    """The memory that another process has made; None where it cannot be had, or is another."""
    try:
        file = os.open(f"/proc/{there.process}/fd/{there.file}", os.O_RDWR | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if os.fstat(file).st_size != length + mmap.PAGESIZE or os.pread(file, _TOKEN_BYTES, length) != there.token:
            return None
        return mmap.mmap(file, length)
    except OSError:
        return None
    finally:
        os.close(file)


def _first_address(mapping: mmap.mmap) -> int:
    return address(np.frombuffer(mapping, np.uint8, 1))


def _machine() -> tuple[str, ...]:
    """What tells apart machines, and containers in which other processes have the same numbers."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return boot, os.readlink("/proc/self/ns/pid")
    except OSError:
        return (secrets.token_hex(),)  # like no other
