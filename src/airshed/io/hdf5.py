"""One thread at a time in the netCDF and HDF5 libraries.

Neither library is thread-safe, not even for two different files: HDF5 keeps one table of all open files, and its usual
builds have no lock around it. During a run a thread reads weather ahead, output is made of records, restarts are
checked, and an observer may open results. All of them use :func:`hdf5` around each call, and never around a message to
other ranks, which could wait for a rank that waits for this lock. What xarray reads lazily is also guarded by a lock of
xarray's own, which is only taken inside of this one. The parallel libraries of the strategies "pnetcdf" and "netcdf4"
are other copies, with tables of their own, and do not need this lock.

A process that forks takes the lock first, so that no child begins in the middle of a call.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Final

_LOCK: Final = RLock()


@contextmanager
def hdf5() -> Iterator[None]:
    """Keep all other threads out of the libraries; reentrant."""
    with _LOCK:
        yield


os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
