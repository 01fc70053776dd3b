"""Exclusive access to the netCDF and HDF5 libraries, and a check of file heads.

Neither library is thread-safe, not even for two different files: HDF5 has one table of all open files, and its usual
builds have no lock around it. During a run a thread reads weather ahead, records become output, restarts are checked,
and an observer may open results. All of them use :func:`hdf5` around each call, and never around a message to other
ranks, which could wait for a rank that waits for this lock. xarray guards its lazy reads by a separate lock, which is
only taken inside this one. The parallel libraries of the strategies "pnetcdf" and "netcdf4" are separate copies, with
separate tables, and do not need this lock.

A process takes the lock before it forks, so that no child starts in the middle of a call.

The heads of HDF5 files are first read in a child process, as some damage makes the library loop or crash.

A few zeros in a global heap of HDF5, which describes the dimensions of variables, lead to an endless loop:
``H5HG__cache_heap_deserialize`` advances by the size of an object, even if it is 0. Of 9,000 files with wrong bytes 29
did so, all in this function, and none while values were read. The caller cannot recover: a thread in a C loop cannot be
stopped and holds the lock of the library. An alarm would end the whole process, which may be a notebook or a server. A
check of the heaps here would require a second HDF5 library, as their locations follow only from all references to them.
Therefore the library itself reads the head once more, in a child (`head_reader`).

The limit applies to the processor time of each call of the library: a slow disk, a busy machine and a file with many
variables do not count as damage. The longest regular call, which opens a file, takes 0.1 ms for each variable. Values
are not read, so that the cost is independent of the file size: some 30 ms of processor time for all files that are
opened together. A file that passed in this process and has not changed costs nothing. `make demo` starts three
children.

If no child can be started, or it ends in any other way, the file is opened anyway, and errors are raised then.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGPROF, SIGSEGV
from threading import RLock
from typing import Final

from airshed.core.errors import DataError

_LOCK: Final = RLock()


@contextmanager
def hdf5() -> Iterator[None]:
    """Exclude all other threads from the libraries; reentrant."""
    with _LOCK:
        yield


os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


HDF5: Final = b"\x89HDF\r\n\x1a\n"
"""First bytes of an HDF5 file."""

SECONDS: Final = 10.0
"""Limit of the processor time [s] of one library call; a longer call counts as an endless loop."""

_DIES: Final = frozenset({SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV})
_Identity = tuple[int, ...]
_passed: set[_Identity] = set()


def check_heads(paths: Iterable[Path]) -> None:
    """Raise DataError for the first file whose head the HDF5 library cannot read completely.

    Files that are missing or not HDF5 are skipped; opening them raises the error.
    """
    new = {identity: path for path in paths if (identity := _identity(path)) and identity not in _passed}
    if new:
        _let_read(list(new.values()), _library(), SECONDS)
        _passed.update(new)


def _identity(path: Path) -> _Identity | None:
    """Return the identity of an HDF5 file and of its present content; None for any other file."""
    try:
        with path.open("rb") as file:
            if file.read(len(HDF5)) != HDF5:
                return None
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _library() -> str:
    """Return a file by which the C library that reads files in this process is found."""
    import netCDF4._netCDF4

    return netCDF4._netCDF4.__file__


def _let_read(paths: Sequence[Path], library: str, seconds: float) -> None:
    """Raise DataError for the file at which a child that reads the heads of all files is ended."""
    if "python" not in Path(sys.executable or "").name:  # another program with an embedded Python
        return
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("head_reader.py")), library, str(seconds)]
    names = b"".join(bytes(path.absolute()) + b"\0" for path in paths)
    try:
        child = subprocess.run(command, input=names, capture_output=True, check=False)
    except OSError:
        return
    begun = len(child.stdout)
    if begun and child.returncode in {-SIGPROF, *(-number for number in _DIES)}:
        how = "does not terminate in" if child.returncode == -SIGPROF else "crashes on"
        fault = f"the HDF5 library {how} its description of the variables, which is damaged"
        raise DataError(f"{paths[begun - 1]}: {fault}; copy or download it again")
