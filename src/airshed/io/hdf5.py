"""One thread at a time in the netCDF and HDF5 libraries.

Neither library is thread-safe, not even for two different files: HDF5 keeps one table of all open files, and its usual
builds have no lock around it. During a run a thread reads weather ahead, output is made of records, restarts are
checked, and an observer may open results. All of them use :func:`hdf5` around each call, and never around a message to
other ranks, which could wait for a rank that waits for this lock. What xarray reads lazily is also guarded by a lock of
xarray's own, which is only taken inside of this one. The parallel libraries of the strategies "pnetcdf" and "netcdf4"
are other copies, with tables of their own, and do not need this lock.

A process that forks takes the lock first, so that no child begins in the middle of a call.

Reads the heads of HDF5 files in a child process first, as some damage makes the library loop or crash.

A few zeros in a global heap of HDF5, which holds what the dimensions of variables are, keep the library in a loop:
``H5HG__cache_heap_deserialize`` advances by the size of an object, also where it is 0. Of 9,000 files with wrong bytes
29 did so, none in another place, and none while values were read. No caller gets out of that: a thread in a loop in C
cannot be stopped, it keeps the lock of the library, and an alarm would end the whole process, which may be a notebook
or a server. A heap could be checked here, but where one lies is known only to who reads all that refers to it, which
would be a second HDF5 library. So the library itself reads the head once more, in a child (`head_reader`).

What counts is processor time, in each call of the library anew: a slow disk, a busy machine and a file of many
variables are no damage. The longest sound call, which opens a file, takes 0.1 ms for each of its variables. Values are
not read, so that the cost does not grow with a file's size: some 30 ms of processor time for all files that are opened
together, nothing for a file that has passed in this process and has not changed. `make demo` starts three children.

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
    """Keep all other threads out of the libraries; reentrant."""
    with _LOCK:
        yield


os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


HDF5: Final = b"\x89HDF\r\n\x1a\n"
"""What an HDF5 file begins with."""

SECONDS: Final = 10.0
"""Processor time [s] of one call of the library, after which it is in a loop."""

_DIES: Final = frozenset({SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV})
_Identity = tuple[int, ...]
_passed: set[_Identity] = set()


def check_heads(paths: Iterable[Path]) -> None:
    """Raise DataError for the first of files whose head the HDF5 library cannot read to its end.

    Files that are missing, or no HDF5, are skipped; opening them raises the error.
    """
    new = {identity: path for path in paths if (identity := _identity(path)) and identity not in _passed}
    if new:
        _let_read(list(new.values()), _library(), SECONDS)
        _passed.update(new)


def _identity(path: Path) -> _Identity | None:
    """Return what differs between two HDF5 files, or two states of one; None for what is none."""
    try:
        with path.open("rb") as file:
            if file.read(len(HDF5)) != HDF5:
                return None
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _library() -> str:
    """Return a file by which the C library is found that will read the files in this process, too."""
    import netCDF4._netCDF4

    return netCDF4._netCDF4.__file__


def _let_read(paths: Sequence[Path], library: str, seconds: float) -> None:
    """Raise DataError for the file at which a child that reads the heads of all is ended."""
    if "python" not in Path(sys.executable or "").name:  # another program that has Python inside
        return
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("head_reader.py")), library, str(seconds)]
    names = b"".join(bytes(path.absolute()) + b"\0" for path in paths)
    try:
        child = subprocess.run(command, input=names, capture_output=True, check=False)
    except OSError:
        return
    begun = len(child.stdout)
    if begun and child.returncode in {-SIGPROF, *(-number for number in _DIES)}:
        how = "comes to no end in" if child.returncode == -SIGPROF else "crashes on"
        fault = f"the HDF5 library {how} its description of the variables, which is damaged"
        raise DataError(f"{paths[begun - 1]}: {fault}; copy or download it again")
