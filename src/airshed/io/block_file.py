"""File of all ranks with interleaved blocks, written without coordination.

    block n of rank r of P is at (n P + r) times the size of a block

Every rank opens the file separately and uses independent MPI-IO. A single rank uses system calls and does not load MPI.
Blocks that were never written occupy no space if the file system supports holes.
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
"""Bytes of a block: large enough for a disk, small enough that the last block of a small state wastes little."""


class BlockFile:
    """Blocks of this rank in the file of all ranks, in an existing folder.

    has_threads  whether a thread other than the main one may use it

    Raises OutputError, which names the file, for errors of the system or MPI, and for missing blocks.
    """

    def __init__(self, path: Path, ranks: Communicator, block: int = BLOCK) -> None:
        self.path, self.block = path, block
        self._rank, self._size = ranks.rank, ranks.size
        self._number, self.has_threads = -1, True
        self._file: Any = None  # of MPI, with several ranks
        if ranks.handle is None:
            with guarded(path):
                self._number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        else:
            from mpi4py import MPI

            self.has_threads = MPI.Query_thread() >= MPI.THREAD_MULTIPLE
            with mpi_guarded(path):  # errors are local to a rank, as no call is collective
                self._file = MPI.File.Open(MPI.COMM_SELF, os.fspath(path), MPI.MODE_CREATE | MPI.MODE_RDWR)

    def write(self, blocks: Sequence[int], content: Bytes) -> None:
        """Write bytes into blocks, all full except the last."""
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
        """Fill an array with the content of blocks."""
        for at, piece in self._pieces(blocks, content):
            if self._read(at, piece) != piece.size:
                raise OutputError(f"{self.path} is damaged: it is shorter than the written blocks")

    def close(self) -> None:
        """Close the file and remove its name, unless another rank has done so."""
        if self._file is None:
            os.close(self._number)
        else:
            self._file.Close()
        with suppress(OSError):
            self.path.unlink()

    def _pieces(self, blocks: Sequence[int], content: Bytes) -> Iterator[tuple[int, Bytes]]:
        """Yield the offset of each block in the file, and its bytes."""
        for block, first in zip(blocks, range(0, content.size, self.block), strict=True):
            yield (block * self._size + self._rank) * self.block, content[first : first + self.block]

    def _read(self, at: int, content: Bytes) -> int:
        """Fill an array from an offset in the file; return the number of available bytes."""
        if self._file is None:
            with guarded(self.path):
                done = 0
                while done < content.size and (more := os.preadv(self._number, [content[done:].data], at + done)):
                    done += more  # a call may return fewer bytes than available; only the end returns none
                return done
        from mpi4py import MPI

        status = MPI.Status()
        with mpi_guarded(self.path):
            self._file.Read_at(at, content, status)
        return int(status.Get_count(MPI.BYTE))
