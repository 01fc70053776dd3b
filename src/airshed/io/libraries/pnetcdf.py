"""PnetCDF: the blocks of all fields are handed over first, and then written together (CDF-5 files)."""

import ctypes
from typing import TYPE_CHECKING, Any, Final

import numpy.typing as npt

from airshed.io.libraries.file import NetcdfFile
from airshed.io.libraries.library import Wanted, communicator, no_info, reason_against

if TYPE_CHECKING:
    from mpi4py import MPI

LIBRARY: Final = Wanted(
    title="PnetCDF",
    variable="AIRSHED_PNETCDF",
    names=("libpnetcdf.so.0d", "libpnetcdf.so.6", "libpnetcdf.so.4", "pnetcdf"),
    symbol="ncmpi_iput_vara",
    packages="openmpi-bin libpnetcdf0d",
)

_ALL_REQUESTS: Final = -1
_PUT: Final = {
    "i1": "iput_vara_schar", "i2": "iput_vara_short", "i4": "iput_vara_int",
    "i8": "iput_vara_longlong", "f4": "iput_vara_float", "f8": "iput_vara_double",
}  # fmt: skip


def available() -> str | None:
    """Return why PnetCDF cannot be used here; None if it can."""
    return reason_against(LIBRARY)


class ParallelFile(NetcdfFile):
    """A file in the format CDF-5."""

    library, prefix, format = LIBRARY, "ncmpi_", 0x0020

    def _open(self, function: str, mode: int, handle: "MPI.Intracomm") -> None:
        self._kept: list[npt.NDArray[Any]] = []
        self._call(function, communicator(handle), bytes(self.path), mode, no_info(), ctypes.byref(self._id))

    def _ready(self, number: ctypes.c_int) -> None:
        """Nothing to do: blocks are written collectively by default."""

    def _put(self, number: ctypes.c_int, start: Any, count: Any, values: npt.NDArray[Any]) -> None:
        """Hand over a block; the library reads it, and swaps its bytes where it lies, until the commit."""
        self._kept.append(values)
        request = ctypes.c_int()
        put = _PUT[values.dtype.str[1:]]
        self._call(put, self._id, number, start, count, ctypes.c_void_p(values.ctypes.data), ctypes.byref(request))

    def commit(self) -> None:
        """Write all blocks that were handed over, together, and bring the file to the system."""
        self._call("wait_all", self._id, _ALL_REQUESTS, None, None)
        self._kept.clear()
        self._call("sync", self._id)
