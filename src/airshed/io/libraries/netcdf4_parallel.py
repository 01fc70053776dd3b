"""NetCDF-4 over a parallel HDF5: each block is written as it comes, by all ranks together."""

import ctypes
from typing import TYPE_CHECKING, Any, Final

import numpy.typing as npt

from airshed.io.libraries.file import NetcdfFile
from airshed.io.libraries.library import Wanted, communicator, no_info, reason_against

if TYPE_CHECKING:
    from mpi4py import MPI

LIBRARY: Final = Wanted(
    title="parallel netCDF-4",
    variable="AIRSHED_NETCDF_PAR",
    names=("libnetcdf_mpi.so.19", "libnetcdf_mpi.so.22", "netcdf_mpi", "netcdf_par"),
    symbol="nc_create_par",
    packages="openmpi-bin libnetcdf-mpi-19",
)

_COLLECTIVE: Final = 1


def available() -> str | None:
    """Return why parallel netCDF-4 cannot be used here; None if it can."""
    return reason_against(LIBRARY)


class ParallelFile(NetcdfFile):
    """A file in the format netCDF-4."""

    library, prefix, format = LIBRARY, "nc_", 0x1000

    def _open(self, function: str, mode: int, handle: "MPI.Intracomm") -> None:
        path = bytes(self.path)
        self._call(f"{function}_par", path, mode, communicator(handle), no_info(), ctypes.byref(self._id))

    def _ready(self, number: ctypes.c_int) -> None:
        self._call("var_par_access", self._id, number, _COLLECTIVE)

    def _put(self, number: ctypes.c_int, start: Any, count: Any, values: npt.NDArray[Any]) -> None:
        self._call("put_vara", self._id, number, start, count, ctypes.c_void_p(values.ctypes.data))

    def commit(self) -> None:
        """Bring the file to the system."""
        self._call("sync", self._id)
