"""Finds a C library that speaks MPI, and sees that it speaks the very MPI that mpi4py does."""

import ctypes
import ctypes.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airshed.core.errors import OutputError

if TYPE_CHECKING:
    from mpi4py import MPI

_MEND = "name the file of the library, or unset it"


@dataclass(frozen=True)
class Wanted:
    """What is looked for.

    title      the library's name, for messages
    variable   of the environment, that may name the file
    names      to look for otherwise, the first that loads is taken
    symbol     a function that it must have
    packages   of Debian, that bring it
    """

    title: str
    variable: str
    names: tuple[str, ...]
    symbol: str
    packages: str


class _Place(ctypes.Structure):
    """Dl_info: where an address was loaded from."""

    _fields_ = (
        ("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p)
    )  # fmt: skip


@lru_cache
def load(wanted: Wanted) -> ctypes.CDLL:
    """Return the library; raises OutputError where there is none, or it is linked against another MPI."""
    library = _found(wanted)
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise OutputError(f"{wanted.title} needs MPI, and none can be loaded: {str(error).splitlines()[0]}") from error
    addresses = _mpi_of(library), _mpi_of(ctypes.CDLL(MPI.__file__))
    if addresses[0] != addresses[1]:
        theirs, ours = _named(addresses)
        other = "MPI4PY_MPIABI=openmpi" if theirs.startswith("OpenMPI") else "its MPI"
        raise OutputError(
            f"{wanted.title} speaks {theirs}, but the ranks speak {ours} ({_file_of(library, wanted.symbol)}); "
            f"run with {other}, or name another library in {wanted.variable}"
        )
    return library


def reason_against(wanted: Wanted) -> str | None:
    """Return why a library cannot be used; None if it can."""
    try:
        load(wanted)
    except OutputError as error:
        return str(error)
    return None


def communicator(handle: "MPI.Intracomm") -> Any:
    """Return a communicator as C takes it: MPICH's is a number, OpenMPI's a pointer."""
    return _c_handle(handle)


def no_info() -> Any:
    """Return MPI_INFO_NULL as C takes it."""
    from mpi4py import MPI

    return _c_handle(MPI.INFO_NULL)


def _c_handle(handle: Any) -> Any:
    from mpi4py import MPI

    kind = ctypes.c_int if MPI._sizeof(handle) == ctypes.sizeof(ctypes.c_int) else ctypes.c_void_p
    return kind.from_address(MPI._addressof(handle))


def _found(wanted: Wanted) -> ctypes.CDLL:
    named = os.environ.get(wanted.variable)
    for name in [named] if named else _candidates(wanted.names):
        try:
            library = ctypes.CDLL(name)
        except OSError as error:
            if named:
                reason = str(error).removeprefix(f"{named}: ")
                raise OutputError(f"{wanted.variable}={named} does not load: {reason}; {_MEND}") from None
            continue
        if hasattr(library, wanted.symbol):
            return library
        if named:
            raise OutputError(f"{wanted.variable}={named} is not {wanted.title}: it has no {wanted.symbol}; {_MEND}")
    raise OutputError(
        f"{wanted.title} is not installed; apt install {wanted.packages}, or name its file in {wanted.variable}"
    )


def _candidates(names: Sequence[str]) -> list[str]:
    """Return the names as they are, and what the system knows under those without a version."""
    found = [ctypes.util.find_library(name) for name in names if ".so" not in name]
    return [*(name for name in names if ".so" in name), *(name for name in found if name)]


def _mpi_of(library: ctypes.CDLL) -> int:
    """Return the address of the MPI_Init that a library reaches; 0 where it reaches none."""
    if not hasattr(library, "MPI_Init"):
        return 0
    return ctypes.cast(library.MPI_Init, ctypes.c_void_p).value or 0


def _named(addresses: Sequence[int]) -> list[str]:
    """Return the names of the MPIs that functions belong to, with their files where these are what differs."""
    files = [_loaded_from(address) if address else "" for address in addresses]
    names = [_family(file) if file else "no MPI" for file in files]
    if len(set(names)) == len(names):
        return names
    return [f"{name} ({Path(file).resolve()})" for name, file in zip(names, files, strict=True)]


def _family(file: str) -> str:
    return "OpenMPI" if hasattr(ctypes.CDLL(file), "ompi_mpi_comm_world") else "MPICH"


def _file_of(library: ctypes.CDLL, symbol: str) -> str:
    return _loaded_from(ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0)


def _loaded_from(address: int) -> str:
    place = _Place()
    ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(place))
    return (place.file or b"").decode()
