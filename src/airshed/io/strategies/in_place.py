"""Records in one file of a classic netCDF format that grows in place: CDF-2, or CDF-5 if a field is too large.

A record is one contiguous range of the file, counted only once all of it is on the disk. A killed run leaves a readable
file of complete records, and no merge is needed at the end. The file is in the folder of records, marked as
interrupted, until the run is complete; only then it gets its final name as well.

The strategy "mpiio" writes it by collective MPI-IO: each rank's part of all fields of a record is one collective write.
A single rank writes with system calls and does not load MPI.
"""

import os
import shutil
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.atomic import advice, guarded, write_whole
from airshed.core.errors import OutputError
from airshed.grid.box import Box
from airshed.io.cf import CLOCK
from airshed.io.classic import ClassicFormat, count_in, is_wide, records_at
from airshed.io.strategies.journal import Store
from airshed.io.strategies.store import (
    AS_IN_FILE,
    IN_PLACE,
    SHARED_FILE,
    Block,
    OutputTarget,
    Record,
    link,
    missing_record,
)

if TYPE_CHECKING:
    from mpi4py import MPI


Bytes = NDArray[np.uint8]
_CHUNK: Final = 1 << 22
_ROOM: Final = 256
"""Bytes reserved in the header for a longer text of the run's state."""


class InPlaceFile(Store):
    """Records in one file; subclasses implement the writing of a record."""

    kind, dtype = IN_PLACE, AS_IN_FILE

    def __init__(self, place: OutputTarget) -> None:
        super().__init__(place)
        self._path = place.records / SHARED_FILE
        self._format = ClassicFormat(place.layout.describe(complete=False), _ROOM)
        self._count = 0
        self._bytes = np.empty(0, np.uint8)

    def _begin(self, last: int) -> None:
        """Retain the records up to this one, in their format."""
        if self._channel.on_root(lambda: last >= 0 and self._path.exists() and is_wide(self._first_bytes())):
            self._format = ClassicFormat(self._place.layout.describe(complete=False), _ROOM, wide=True)
        super()._begin(last)
        self._count = last + 1

    def _write(self, index: int, seconds: float, block: Block) -> None:
        if index > self._count:
            raise missing_record(self._place.records, self._count)
        self._put(index, seconds, block)
        self._count = max(self._count, index + 1)
        with self._channel.together():
            if self._channel.is_root:  # the file counts the record
                at, content = self._format.count_bytes(self._count)
                self._write_at(at, np.frombuffer(content, np.uint8))

    def _read(self, index: int, box: Box) -> tuple[float, Block]:
        layout, names = self._place.layout, self._format.within
        record = np.memmap(self._path, np.uint8, "r", self._begin_of(index), (self._format.record,))
        at = names["time"]
        block = {}
        for spec in layout.fields:
            shape, begin = layout.shape(spec, layout.whole), names[spec.name]
            values = record[begin : begin + 4 * prod(shape)].view(">f4").reshape(shape)
            block[spec.name] = np.array(box.of(values))
        return float(record[at : at + 8].view(">f8")[0]), block

    @abstractmethod
    def _put(self, index: int, seconds: float, block: Block) -> None:
        """Write this rank's part of a record at its offset in the file; collective."""

    def _make(self, path: Path, *, complete: bool) -> None:
        """Give the file its final name as well, or to a copy of it while the run is not complete.

        It stays in the folder of records until the run itself is marked as ended.
        """
        if complete:
            self._write_at(0, self._start(self._count, complete=True))
        with write_whole(path) as part:
            if complete:
                link(self._path, part)
            else:
                shutil.copyfile(self._path, part)
            os.truncate(part, self._format.size(self._count))

    def _keep(self, last: int) -> None:
        """Resume a file with the records up to one; raise OutputError if it has fewer.

        The header is rewritten, since the run may have been killed while it was marked as complete.
        """
        if last < 0:
            self._path.write_bytes(self._format.start(0))
            return
        count = last + 1
        found, begin = self._counted() if self._path.exists() else (0, 0)
        if found < count or self._path.stat().st_size < begin + count * self._format.record:
            raise missing_record(self._place.records, found)
        if begin != self._format.records or self._path.stat().st_nlink > 1:
            self._copy(begin)  # a longer text needs space; an existing result must not change any more
        self._write_at(0, self._start(count, complete=False))

    def _start(self, count: int, *, complete: bool) -> Bytes:
        return np.frombuffer(self._format.start(count, self._place.layout.describe(complete=complete)), np.uint8)

    def _copy(self, begin: int) -> None:
        """Copy the file, whose records begin at an offset, to one with the present header size."""
        with write_whole(self._path) as part, self._path.open("rb") as old, part.open("wb") as new:
            old.seek(begin)
            new.seek(self._format.records)
            shutil.copyfileobj(old, new, _CHUNK)

    def _counted(self) -> tuple[int, int]:
        """Return the number of records in the file, and the offset of the first; none for a damaged header."""
        count = count_in(self._first_bytes()) or 0
        with self._path.open("rb") as file:
            try:
                return count, records_at(file) if count else self._format.records
            except (ValueError, KeyError):
                return 0, self._format.records

    def _first_bytes(self) -> bytes:
        with self._path.open("rb") as file:
            return file.read(64)

    def _content(self, seconds: float, block: Block) -> Bytes:
        """Return this rank's bytes of a record in file order, valid until the next call; the root's include the time.

        Gather buffers are reused from record to record: allocation costs more than filling.
        """
        clock = np.concatenate([each.ravel() for each in self._place.layout.clock(seconds).values()])
        if isinstance(block, Record):
            return block.timed(clock) if self._channel.is_root else block.untimed()
        values = [block[name] for name in self._format.within if name not in CLOCK]
        parts = [clock, *values] if self._channel.is_root else values
        size = sum(part.nbytes for part in parts)
        if self._bytes.size != size:
            self._bytes = np.empty(size, np.uint8)
        at = 0
        for part in parts:
            turned = self._bytes[at : at + part.nbytes].view(part.dtype.newbyteorder(">"))
            turned.reshape(part.shape)[...] = part
            at += part.nbytes
        return self._bytes

    def _begin_of(self, index: int) -> int:
        """Return the offset of a record."""
        return self._format.records + index * self._format.record

    def _write_at(self, at: int, content: Bytes) -> None:
        """Write bytes to the disk with system calls."""
        with guarded(self._path), self._path.open("r+b") as file:
            file.seek(at)
            file.write(content.data)
            file.flush()
            os.fsync(file.fileno())


class SharedFile(InPlaceFile):
    """Records in one file that all ranks write."""

    def __init__(self, place: OutputTarget) -> None:
        super().__init__(place)
        self._filetype: MPI.Datatype | None = None

    def _put(self, index: int, seconds: float, block: Block) -> None:
        at, content = self._begin_of(index), self._content(seconds, block)
        if self._channel.handle is None:
            self._write_at(at, content)
        else:
            self._channel.barrier()  # ranks wait here, as the library's own calls poll
            with self._channel.together(), mpi_guarded(self._path):
                self._write_together(at, content)

    def _write_together(self, at: int, content: Bytes) -> None:
        from mpi4py import MPI

        assert self._channel.handle is not None
        if self._filetype is None:
            self._filetype = self._places(MPI).Commit()
        file = MPI.File.Open(self._channel.handle, os.fspath(self._path), MPI.MODE_WRONLY)
        try:
            file.Set_view(at, MPI.BYTE, self._filetype)
            file.Write_at_all(0, content)
            file.Sync()
        finally:
            file.Close()

    def _places(self, mpi: Any) -> "MPI.Datatype":
        """Return the positions of this rank's bytes in a record, as an MPI datatype."""
        layout, box = self._place.layout, self._place.box
        types, places = [], []
        if self._channel.is_root:
            for name, values in layout.clock(0.0).items():
                types.append(mpi.BYTE.Create_contiguous(values.nbytes))
                places.append(self._format.within[name])
        for spec in layout.fields:
            shape, part = layout.shape(spec, layout.whole), layout.shape(spec, box)
            starts = [*(0 for _ in box.undivided(shape)), *box.first]
            element = mpi.BYTE.Create_contiguous(4)
            types.append(element.Create_subarray(shape, part, starts))
            places.append(self._format.within[spec.name])
        return mpi.Datatype.Create_struct([1] * len(types), places, types)  # type: ignore[no-any-return]


@contextmanager
def mpi_guarded(path: Path) -> Iterator[None]:
    """Convert MPI-IO errors into OutputError."""
    from mpi4py import MPI

    try:
        yield
    except MPI.Exception as error:
        raise OutputError(f"cannot write {path}: {advice(_number(error), path, error.Get_error_string())}") from error


def _number(error: "MPI.Exception") -> int | None:
    """Return the system's error number, if MPI has a class for it."""
    import errno

    from mpi4py import MPI

    numbers = {
        MPI.ERR_NO_SPACE: errno.ENOSPC,
        MPI.ERR_QUOTA: errno.EDQUOT,
        MPI.ERR_READ_ONLY: errno.EROFS,
        MPI.ERR_ACCESS: errno.EACCES,
    }
    return numbers.get(error.Get_error_class())
