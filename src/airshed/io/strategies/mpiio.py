"""The strategy "mpiio": all ranks write one CDF-5 file in place, by collective MPI-IO.

A record is one contiguous stretch of the file, and each rank's part of all its fields is one collective write. The file
counts a record only after all ranks have brought their parts to the disk: a run that is killed leaves a readable file
of whole records. It lies in the folder of records, marked as interrupted, until the run is complete, and only then gets
its name. One rank alone writes with the system's own calls and loads no MPI.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.atomic import advice, guarded, publish, write_whole
from airshed.core.errors import OutputError
from airshed.io.cdf5 import Cdf5, count_bytes, count_in
from airshed.io.strategies.store import SHARED_FILE, Block, Place, lacks

if TYPE_CHECKING:
    from mpi4py import MPI

Bytes = NDArray[np.uint8]
_ROOM: Final = 256
"""Bytes in the header for a longer text of the run's state."""


class SharedFile:
    """Records in one file that all ranks write."""

    def __init__(self, place: Place) -> None:
        self._place, self._channel = place, place.channel
        self._path = place.records / SHARED_FILE
        self._format = Cdf5(place.layout.describe(complete=False), _ROOM)
        self._filetype: MPI.Datatype | None = None

    def resume(self, last: int) -> None:
        """Keep the records up to this one; see :class:`Store`."""
        with self._channel.together(), guarded(self._path):
            if self._channel.is_root:
                if last < 0:
                    self._path.write_bytes(self._format.start(0))
                else:
                    self._keep(last + 1)

    def write(self, index: int, seconds: float, block: Block) -> None:
        """Write this rank's part of a record and count the record; see :class:`Store`."""
        self._put(index, seconds, block)
        with self._channel.together(), guarded(self._path):
            if self._channel.is_root:
                self._count(index + 1)

    def _put(self, index: int, seconds: float, block: Block) -> None:
        """Bring this rank's part of a record to its place in the file."""
        content = self._content(seconds, block)
        at = self._format.records + index * self._format.record
        if self._channel.handle is None:
            with guarded(self._path), self._path.open("r+b") as file:
                file.seek(at)
                file.write(content.data)
                file.flush()
                os.fsync(file.fileno())
        else:
            self._channel.barrier()  # all come at once: those that wait in the library's own calls would spin
            with self._channel.together(), told(self._path):
                self._write_together(at, content)

    def finish(self, *, complete: bool) -> Path:
        """Give the file its name, or a copy of it while the run is not complete; see :class:`Store`."""
        path = self._place.result.with_name(f"{self._place.result.name}.nc")
        with self._channel.together():
            if self._channel.is_root:
                self._name(path, complete=complete)
        return path

    def _name(self, path: Path, *, complete: bool) -> None:
        count = self._counted()
        if complete:
            with guarded(path):
                with self._path.open("r+b") as file:
                    file.write(self._format.start(count, self._place.layout.describe(complete=True)))
                    file.truncate(self._format.size(count))
                publish(self._path, path)
        else:
            with write_whole(path) as part:
                shutil.copyfile(self._path, part)
                os.truncate(part, self._format.size(count))

    def _keep(self, count: int) -> None:
        """Take up a file again with so many records; raises OutputError where it has fewer, or is another file."""
        found = self._counted() if self._path.exists() else 0
        if found < count or self._path.stat().st_size < self._format.size(count):
            raise lacks(self._place.records, found)
        with self._path.open("rb") as file:
            if file.read(self._format.records) != self._format.start(found):
                raise OutputError(f"{self._path} is damaged or of another case; run anew without --resume")
        self._count(count)

    def _counted(self) -> int:
        with self._path.open("rb") as file:
            return count_in(file.read(64)) or 0

    def _count(self, count: int) -> None:
        at, content = count_bytes(count)
        with self._path.open("r+b") as file:
            file.seek(at)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _content(self, seconds: float, block: Block) -> Bytes:
        """Return this rank's bytes of a record in the order of the file; the root writes the time."""
        names = [name for name in self._format.within if name != "time"]
        time = [np.array([seconds], ">f8").view(np.uint8)] if self._channel.is_root else []
        return np.concatenate([*time, *(block[name].astype(">f4").reshape(-1).view(np.uint8) for name in names)])

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
        """Return where this rank's bytes of a record lie in it, as an MPI datatype."""
        layout, window = self._place.layout, self._place.window
        types, places = [], []
        if self._channel.is_root:
            types.append(mpi.BYTE.Create_contiguous(8))
            places.append(self._format.within["time"])
        for spec in layout.fields:
            shape, part = layout.shape(spec, layout.whole), layout.shape(spec, window)
            starts = [0] * (len(shape) - 2) + [window.south, window.west]
            element = mpi.BYTE.Create_contiguous(4)
            types.append(element.Create_subarray(shape, part, starts))
            places.append(self._format.within[spec.name])
        return mpi.Datatype.Create_struct([1] * len(types), places, types)  # type: ignore[no-any-return]


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what MPI-IO refuses into OutputError."""
    from mpi4py import MPI

    try:
        yield
    except MPI.Exception as error:
        raise OutputError(f"cannot write {path}: {advice(_number(error), path, error.Get_error_string())}") from error


def _number(error: "MPI.Exception") -> int | None:
    """Return the system's number of an error, where MPI has a class for it."""
    import errno

    from mpi4py import MPI

    numbers = {
        MPI.ERR_NO_SPACE: errno.ENOSPC,
        MPI.ERR_QUOTA: errno.EDQUOT,
        MPI.ERR_READ_ONLY: errno.EROFS,
        MPI.ERR_ACCESS: errno.EACCES,
    }
    return numbers.get(error.Get_error_class())
