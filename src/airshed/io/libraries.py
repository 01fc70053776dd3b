"""NetCDF file that many ranks write, by an MPI-parallel C library, if installed.

    pnetcdf  PnetCDF: CDF-5 files; the blocks of all fields are queued, and then written together
    netcdf4  netCDF-4 over a parallel HDF5: each block is written collectively and immediately

A library is used only if it is linked against the same MPI as mpi4py.
"""

import ctypes
import ctypes.util
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import OutputError

if TYPE_CHECKING:
    from mpi4py import MPI

TYPES: Final = {"i1": 1, "i2": 3, "i4": 4, "f4": 5, "f8": 6, "i8": 10}
"""netCDF's type numbers, by NumPy's names."""

_TEXT, _WHOLE_FILE, _NO_FILL = 2, -1, 1
_CREATE, _WRITE = 0, 1  # _CREATE replaces an existing file
_COLLECTIVE: Final = 1
_ALL_REQUESTS: Final = -1
_PUT: Final = {
    "i1": "iput_vara_schar", "i2": "iput_vara_short", "i4": "iput_vara_int",
    "i8": "iput_vara_longlong", "f4": "iput_vara_float", "f8": "iput_vara_double",
}  # fmt: skip
_MEND: Final = "name the file of the library, or unset it"


@dataclass(frozen=True)
class Library:
    """C library, and the ways to find it.

    title      name of the library, for messages
    variable   environment variable that may name the file
    names      candidates otherwise, of which the first that loads is used
    symbol     a function that it must have
    packages   Debian packages that provide it
    """

    title: str
    variable: str
    names: tuple[str, ...]
    symbol: str
    packages: str

    def unavailable_reason(self) -> str | None:
        """Return why the library cannot be used; None if it can."""
        try:
            load(self)
        except OutputError as error:
            return str(error)
        return None


PNETCDF: Final = Library(
    "PnetCDF", "AIRSHED_PNETCDF", ("libpnetcdf.so.0d", "libpnetcdf.so.6", "libpnetcdf.so.4", "pnetcdf"),
    "ncmpi_iput_vara", "openmpi-bin libpnetcdf0d",
)  # fmt: skip
NETCDF4: Final = Library(
    "parallel netCDF-4", "AIRSHED_NETCDF_PAR",
    ("libnetcdf_mpi.so.19", "libnetcdf_mpi.so.22", "netcdf_mpi", "netcdf_par"), "nc_create_par",
    "openmpi-bin libnetcdf-mpi-19",
)  # fmt: skip


class _SymbolPlace(ctypes.Structure):
    """Dl_info: the file from which an address was loaded."""

    _fields_ = (
        ("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p)
    )  # fmt: skip


@lru_cache
def load(library: Library) -> ctypes.CDLL:
    """Return the loaded library; raise OutputError if there is none, or if it is linked against another MPI."""
    loaded = _load_first(library)
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise OutputError(f"{library.title} needs MPI, and none can be loaded: {str(error).splitlines()[0]}") from error
    addresses = [_address(each, "MPI_Init") for each in (loaded, ctypes.CDLL(MPI.__file__))]
    if addresses[0] != addresses[1]:
        # The names of both MPIs, with their files if the names are the same.
        files = [_file_of(address) if address else "" for address in addresses]
        names = [_family(file) if file else "no MPI" for file in files]
        if names[0] == names[1]:
            names = [f"{name} ({Path(file).resolve()})" for name, file in zip(names, files, strict=True)]
        other = "MPI4PY_MPIABI=openmpi" if names[0].startswith("OpenMPI") else "its MPI"
        raise OutputError(
            f"{library.title} speaks {names[0]}, but the ranks speak {names[1]} "
            f"({_file_of(_address(loaded, library.symbol))}); "
            f"run with {other}, or name another library in {library.variable}"
        )
    return loaded


def _load_first(library: Library) -> ctypes.CDLL:
    """Load the file named in the environment, else the first of the usual names."""
    named = os.environ.get(library.variable)
    versioned = [name for name in library.names if ".so" in name]
    plain = [found for name in library.names if ".so" not in name and (found := ctypes.util.find_library(name))]
    for name in [named] if named else [*versioned, *plain]:
        try:
            loaded = ctypes.CDLL(name)
        except OSError as error:
            if named:
                reason = str(error).removeprefix(f"{named}: ")
                raise OutputError(f"{library.variable}={named} does not load: {reason}; {_MEND}") from None
            continue
        if hasattr(loaded, library.symbol):
            return loaded
        if named:
            raise OutputError(f"{library.variable}={named} is not {library.title}: it has no {library.symbol}; {_MEND}")
    raise OutputError(
        f"{library.title} is not installed; apt install {library.packages}, or name its file in {library.variable}"
    )


def _address(loaded: ctypes.CDLL, symbol: str) -> int:
    """Return the address of a function that a library resolves; 0 if it has none of the name."""
    return ctypes.cast(getattr(loaded, symbol), ctypes.c_void_p).value or 0 if hasattr(loaded, symbol) else 0


def _file_of(address: int) -> str:
    place = _SymbolPlace()
    ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(place))
    return (place.file or b"").decode()


def _family(file: str) -> str:
    return "OpenMPI" if hasattr(ctypes.CDLL(file), "ompi_mpi_comm_world") else "MPICH"


def _c_handle(handle: Any) -> Any:
    """Return a communicator or info as a C argument: MPICH's is a number, OpenMPI's a pointer."""
    from mpi4py import MPI

    kind = ctypes.c_int if MPI._sizeof(handle) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    return kind.from_address(MPI._addressof(handle))


@dataclass(frozen=True)
class Variable:
    """Variable to define: its dimensions, the type of its values, and its attributes (text, numbers, arrays)."""

    dimensions: tuple[str, ...]
    dtype: npt.DTypeLike
    attributes: Mapping[str, Any] = field(default_factory=dict)


class ParallelFile(ABC):
    """File that the ranks of a communicator create, or append to, together: each makes the same calls, in one order.

    Written blocks are in the file after `commit` or `close`. Every call raises OutputError if the library fails, with
    its message and the path.
    """

    library: ClassVar[Library]
    prefix: ClassVar[str]
    format: ClassVar[int]

    def __init__(self, path: Path, handle: "MPI.Intracomm | None", *, append: bool = False) -> None:
        """Create the file, or open it to ``append``; without a communicator for this rank alone."""
        from mpi4py import MPI

        self.path, self._c = path, load(self.library)
        self._id = ctypes.c_int(-1)
        self._variables: dict[str, tuple[ctypes.c_int, np.dtype[Any], int]] = {}
        function, mode = ("open", _WRITE) if append else ("create", _CREATE | self.format)
        self._open(function, mode, _c_handle(handle if handle is not None else MPI.COMM_SELF), _c_handle(MPI.INFO_NULL))

    def define(
        self, dims: Mapping[str, int | None], variables: Mapping[str, Variable], attributes: Mapping[str, Any]
    ) -> None:
        """Define all of a new file: dimensions (None for the unlimited one), variables, attributes."""
        numbers = {}
        for name, size in dims.items():
            numbers[name] = ctypes.c_int()
            self._call("def_dim", self._id, name.encode(), ctypes.c_size_t(size or 0), ctypes.byref(numbers[name]))
        for name, variable in variables.items():
            number, kind = ctypes.c_int(), np.dtype(variable.dtype).newbyteorder("=").str[1:]
            if kind not in TYPES:
                raise OutputError(
                    f"{self.path}: {name} has type {kind}, which netCDF does not have; use one of {[*TYPES]}"
                )
            dimensions = (ctypes.c_int * len(variable.dimensions))(*(numbers[dim] for dim in variable.dimensions))
            code = ctypes.c_int(TYPES[kind])
            self._call(
                "def_var", self._id, name.encode(), code, len(dimensions), dimensions, ctypes.byref(number)
            )  # fmt: skip
            self._call("def_var_fill", self._id, number, _NO_FILL, None)  # every value is written once
            self._attributes(number, variable.attributes)
        self._attributes(ctypes.c_int(_WHOLE_FILE), attributes)
        self._call("enddef", self._id)

    def write(self, name: str, start: Sequence[int], count: Sequence[int], array: npt.ArrayLike) -> None:
        """Write a block of a variable: ``count`` values along each dimension from ``start``; 0 for a rank with none.

        The array is converted to the variable's type, and may change after the call.
        """
        number, dtype, dimensions = self._variable(name)
        # a copy: libraries may refer to it until the commit, and swap its bytes
        values = np.array(array, dtype, order="C")
        if len(start) != dimensions or len(count) != dimensions or values.size != np.prod(count, dtype=np.int64):
            raise OutputError(
                f"{self.path}: a block of {name} from {tuple(start)}, {tuple(count)} long, does not fit "
                f"{values.size} values in {dimensions} dimensions"
            )
        offsets = ctypes.c_size_t * dimensions
        self._put(number, offsets(*start), offsets(*count), values)

    def close(self) -> None:
        """Commit, and close the file."""
        self.commit()
        self._call("close", self._id)

    @abstractmethod
    def commit(self) -> None:
        """Flush all blocks written so far to the file, and the file to the system."""

    @abstractmethod
    def _open(self, function: str, mode: int, handle: Any, info: Any) -> None:
        """Create or open the file."""

    @abstractmethod
    def _put(self, number: ctypes.c_int, start: Any, count: Any, values: npt.NDArray[Any]) -> None:
        """Write a block, or queue it in the library."""

    def _call(self, function: str, *arguments: Any) -> None:
        """Call a function of the library; raise OutputError if it fails."""
        status = getattr(self._c, self.prefix + function)(*arguments)
        if status != 0:
            text = getattr(self._c, f"{self.prefix}strerror")
            text.restype = ctypes.c_char_p
            raise OutputError(f"{self.path}: {self.library.title} failed to {function}: {text(status).decode()}")

    def _attributes(self, number: ctypes.c_int, attributes: Mapping[str, Any]) -> None:
        for name, value in attributes.items():
            if isinstance(value, str):
                content, code, size = value.encode(), _TEXT, len(value.encode())
            else:
                values = np.atleast_1d(np.asarray(value))
                content, code, size = values.tobytes(), TYPES[values.dtype.str[1:]], values.size
            self._call("put_att", self._id, number, name.encode(), code, ctypes.c_size_t(size), content)

    def _variable(self, name: str) -> tuple[ctypes.c_int, np.dtype[Any], int]:
        """Return number, type and number of dimensions of a variable in the file."""
        if name not in self._variables:
            number, code, dimensions = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
            self._call("inq_varid", self._id, name.encode(), ctypes.byref(number))
            self._call("inq_vartype", self._id, number, ctypes.byref(code))
            self._call("inq_varndims", self._id, number, ctypes.byref(dimensions))
            kind = next(kind for kind, known in TYPES.items() if known == code.value)
            if self.library is NETCDF4:
                self._call("var_par_access", self._id, number, _COLLECTIVE)
            self._variables[name] = (number, np.dtype(kind), dimensions.value)
        return self._variables[name]


class PnetcdfFile(ParallelFile):
    """File in the format CDF-5."""

    library, prefix, format = PNETCDF, "ncmpi_", 0x0020

    def _open(self, function: str, mode: int, handle: Any, info: Any) -> None:
        self._kept: list[npt.NDArray[Any]] = []
        self._call(function, handle, bytes(self.path), mode, info, ctypes.byref(self._id))

    def _put(self, number: ctypes.c_int, start: Any, count: Any, values: npt.NDArray[Any]) -> None:
        self._kept.append(values)  # the library reads it, and swaps its bytes in place, until the commit
        put, request = _PUT[values.dtype.str[1:]], ctypes.c_int()
        self._call(put, self._id, number, start, count, ctypes.c_void_p(values.ctypes.data), ctypes.byref(request))

    def commit(self) -> None:
        """Write all queued blocks together, and flush the file to the system."""
        self._call("wait_all", self._id, _ALL_REQUESTS, None, None)
        self._kept.clear()
        self._call("sync", self._id)


class Netcdf4File(ParallelFile):
    """File in the format netCDF-4."""

    library, prefix, format = NETCDF4, "nc_", 0x1000

    def _open(self, function: str, mode: int, handle: Any, info: Any) -> None:
        self._call(f"{function}_par", bytes(self.path), mode, handle, info, ctypes.byref(self._id))

    def _put(self, number: ctypes.c_int, start: Any, count: Any, values: npt.NDArray[Any]) -> None:
        self._call("put_vara", self._id, number, start, count, ctypes.c_void_p(values.ctypes.data))

    def commit(self) -> None:
        """Flush the file to the system."""
        self._call("sync", self._id)


FILES: Final[Mapping[str, type[ParallelFile]]] = {"pnetcdf": PnetcdfFile, "netcdf4": Netcdf4File}
"""File class of each strategy that needs a library."""
