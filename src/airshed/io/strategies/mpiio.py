"""The strategy "mpiio": all ranks write one classic netCDF file in place, by collective MPI-IO.

Each rank's part of all fields of a record is one collective write. One rank alone writes with the system's own calls
and loads no MPI.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airshed.core.atomic import advice
from airshed.core.errors import OutputError
from airshed.io.strategies.in_place import Bytes, FileInPlace
from airshed.io.strategies.store import Block, Place

if TYPE_CHECKING:
    from mpi4py import MPI


class SharedFile(FileInPlace):
    """Records in one file that all ranks write."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._filetype: MPI.Datatype | None = None

    def _put(self, index: int, seconds: float, block: Block) -> None:
        at, content = self._begin_of(index), self._content(seconds, block)
        if self._channel.handle is None:
            self._write_at(at, content)
        else:
            self._channel.barrier()  # ranks meet here first, as those that wait in the library's own calls would spin
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
        """Return where this rank's bytes of a record lie in it, as an MPI datatype."""
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
