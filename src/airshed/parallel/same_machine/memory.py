"""Shared memory of the ranks of one machine: a part for each rank, which the others can read.

It is a file without a name, which the first rank of the machine makes and the others open through /proc; it disappears
with the last process that has it. Where that is not possible (another container, not Linux) no memory is shared.
"""

import mmap
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from mpi4py import MPI

_TOKEN_BYTES: Final = 16


@dataclass(frozen=True)
class Whereabouts:
    """Where a process has the memory of its machine, with a token that identifies it."""

    process: int
    file: int
    token: bytes


class SharedMemory:
    """Memory of the ranks of this machine.

    ranks  those that share it, this one among them, rising; none where sharing is not possible
    """

    def __init__(self, handle: "MPI.Intracomm", size: int) -> None:
        """Make it; all ranks of the communicator call this, with the same size [bytes] of a part."""
        own = handle.Get_rank()
        machines: list[tuple[str, ...]] = handle.allgather(machine())
        near = tuple(rank for rank, each in enumerate(machines) if each == machines[own])
        mapping = _shared(handle, near, size * len(near))
        self.ranks: tuple[int, ...] = () if mapping is None else near
        self._bytes = None if mapping is None else np.frombuffer(mapping, np.uint8)[: size * len(near)]

    def of(self, rank: int) -> npt.NDArray[np.uint8]:
        """Return the part of a rank."""
        assert self._bytes is not None
        part: npt.NDArray[np.uint8] = self._bytes.reshape(len(self.ranks), -1)[self.ranks.index(rank)]
        return part


def _shared(handle: "MPI.Intracomm", near: tuple[int, ...], length: int) -> mmap.mmap | None:
    """The memory of the ranks of a machine; None where not all of them have it."""
    made = made_memory(length) if handle.Get_rank() == near[0] and len(near) > 1 else None
    mapping, here = made or (None, None)
    try:
        there: Whereabouts | None = handle.allgather(here)[near[0]]
        if there is not None and here is None:
            mapping = opened_memory(there, length)
        have = handle.allgather(mapping is not None)
    finally:
        if here is not None:
            os.close(here.file)  # the others have opened it by now, or will not
    return mapping if all(have[rank] for rank in near) else None


def made_memory(length: int) -> tuple[mmap.mmap, Whereabouts] | None:
    """Return memory of zeros with a token behind it, and how others find it; None if the system has none."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        file = os.memfd_create("airshed")
    except OSError:
        return None
    try:
        os.ftruncate(file, length + _TOKEN_BYTES)
        here = Whereabouts(os.getpid(), file, secrets.token_bytes(_TOKEN_BYTES))
        os.pwrite(file, here.token, length)
        return mmap.mmap(file, length), here
    except OSError:
        os.close(file)
        return None


def opened_memory(there: Whereabouts, length: int) -> mmap.mmap | None:
    """Return the memory that another process has made; None if it cannot be opened, or is another."""
    try:
        file = os.open(f"/proc/{there.process}/fd/{there.file}", os.O_RDWR | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if os.fstat(file).st_size != length + _TOKEN_BYTES or os.pread(file, _TOKEN_BYTES, length) != there.token:
            return None
        return mmap.mmap(file, length)
    except OSError:
        return None
    finally:
        os.close(file)


def machine() -> tuple[str, ...]:
    """Return an identifier of the machine, or of the container, as process numbers differ between containers."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return boot, os.readlink("/proc/self/ns/pid")
    except OSError:
        return (secrets.token_hex(),)  # like no other
