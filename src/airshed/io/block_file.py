"""One file of all ranks, in which their blocks take turns: no rank has to know what another writes.

    block n of rank r of P lies at (n P + r) times the size of a block

Every rank opens it for itself and reads and writes by independent MPI-IO. One rank alone uses the system's own calls
and loads no MPI. Blocks that were never written take no room, where the file system knows holes.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.atomic import guarded
from airshed.core.errors import OutputError
from airshed.io.strategies.in_place import mpi_guarded
from airshed.parallel.communicator import Communicator

Bytes = npt.NDArray[np.uint8]

BLOCK: Final = 1 << 20
"""Bytes of a block: large enough for a disk, small enough that the last one of a small state wastes little."""


class BlockFile:
    """This rank's blocks in the file of all ranks, in a folder that is there.

    has_threads  whether another thread than the main one may use it
    Raises OutputError, which names the file, for what the system or MPI refuses, and for blocks that are not there.
    """

    def __init__(self, path: Path, ranks: Communicator, block: int = BLOCK) -> None:
        self.path, self.block = path, block
        self._rank, self._size = ranks.rank, ranks.size
        self._number, self.has_threads = -1, True
        self._file: Any = None  # of MPI, where there are several ranks
        if ranks.handle is None:
            with guarded(path):
                self._number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        else:
            from mpi4py import MPI

            self.has_threads = MPI.Query_thread() >= MPI.THREAD_MULTIPLE
            with mpi_guarded(path):  # errors of one rank are its own, as no call is collective
                self._file = MPI.File.Open(MPI.COMM_SELF, os.fspath(path), MPI.MODE_CREATE | MPI.MODE_RDWR)

    def write(self, blocks: Sequence[int], content: Bytes) -> None:
        """Write bytes into blocks, all full but the last."""
        for at, piece in self._pieces(blocks, content):
            if self._file is not None:
                with mpi_guarded(self.path):
                    self._file.Write_at(at, piece)
                continue
            with guarded(self.path):
                done = 0
                while done < piece.size:
                    done += os.pwrite(self._number, piece[done:].data, at + done)

    def read(self, blocks: Sequence[int], content: Bytes) -> None:
        """Fill an array with what was written into blocks."""
        for at, piece in self._pieces(blocks, content):
            if self._read(at, piece) != piece.size:
                raise OutputError(f"{self.path} is damaged: it ends before what was written")

    def close(self) -> None:
        """Close the file and remove its name, unless another rank has done so."""
        if self._file is None:
            os.close(self._number)
        else:
            self._file.Close()
        with suppress(OSError):
            self.path.unlink()

    def _pieces(self, blocks: Sequence[int], content: Bytes) -> Iterator[tuple[int, Bytes]]:
        """Yield the place in the file of each block, and its bytes."""
        for block, first in zip(blocks, range(0, content.size, self.block), strict=True):
            yield (block * self._size + self._rank) * self.block, content[first : first + self.block]

    def _read(self, at: int, content: Bytes) -> int:
        """Fill an array from a place in the file on; return the number of bytes that were there."""
        if self._file is None:
            with guarded(self.path):
                done = 0
                while done < content.size and (more := os.preadv(self._number, [content[done:].data], at + done)):
                    done += more  # one call may return less than there is, at the end alone nothing
                return done
        from mpi4py import MPI

        status = MPI.Status()
        with mpi_guarded(self.path):
            self._file.Read_at(at, content, status)
        return int(status.Get_count(MPI.BYTE))
