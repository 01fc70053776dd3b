"""One thread at a time in the netCDF and HDF5 libraries.

Neither library may be entered by two threads at once, not even for two different files: HDF5 keeps one table of all
that is open, and its usual builds have no lock around it. While a run steps, a thread reads weather ahead; output is
made of its records, restarts are looked at, and an observer may open results meanwhile. All of them come through
:func:`hdf5`, around each call and never around a message to other ranks: those could wait for a rank that waits for
this lock. What xarray reads lazily, also for a user, is guarded by a lock of xarray's own besides, which is only taken
inside of this one. The parallel libraries of the strategies "pnetcdf" and "netcdf4" are other copies, with tables of
their own, and need no place here.

A process that forks waits for the library to be left, so that no child is born in the middle of a call.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Final

_LOCK: Final = RLock()


@contextmanager
def hdf5() -> Iterator[None]:
    """Keep all other threads out of the libraries; a thread that is in may come again."""
    with _LOCK:
        yield


os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)
