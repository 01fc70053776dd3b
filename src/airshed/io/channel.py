"""Messages between ranks about files, on a separate communicator.

A writer thread thus never receives a message of the computing threads. A waiting rank sleeps between polls, since an
MPI library that polls continuously would occupy a core. An error on one rank is raised on all ranks.
"""

import os
import pickle
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from airshed.core.atomic import guarded, sync
from airshed.core.errors import OutputError
from airshed.parallel.communicator import Communicator

if TYPE_CHECKING:
    from mpi4py import MPI

T = TypeVar("T")
Bytes = NDArray[np.uint8]

_TURNS: Final = 20
_SHORT, _LONG = 5e-5, 1e-3  # s between two polls: at first, and later


class AbandonedError(Exception):
    """The run ends by an error while files are being written; they are abandoned."""


class Channel:
    """Communicator of a run's files; every rank makes the same calls in the same order.

    handle  the separate communicator; None for a single rank
    """

    def __init__(self, ranks: Communicator) -> None:
        self.rank, self.size = ranks.rank, ranks.size
        self.handle: MPI.Intracomm | None = None if ranks.handle is None else ranks.handle.Dup()
        self.abandoned = threading.Event()

    @property
    def is_root(self) -> bool:
        """True on rank 0, which writes shared files."""
        return self.rank == 0

    @property
    def has_threads(self) -> bool:
        """True if two threads may send messages simultaneously."""
        if self.handle is None:
            return True
        from mpi4py import MPI

        return MPI.Query_thread() >= MPI.THREAD_MULTIPLE

    def barrier(self) -> None:
        """Wait until all ranks have called this method."""
        if self.handle is not None:
            self._wait([self.handle.Ibarrier()])

    def settle(self, error: BaseException | None) -> None:
        """Raise on every rank the error of the lowest failing rank; return if there is none."""
        if self.handle is None:
            if error is not None:
                raise error
            return
        from mpi4py import MPI

        mine = np.array([self.size if error is None else self.rank])
        lowest = np.empty_like(mine)
        self._wait([self.handle.Iallreduce(mine, lowest, MPI.MIN)])
        first = int(lowest[0])
        if first == self.size:
            return
        raised = error if first == self.rank else None
        theirs = self.handle.bcast(None if raised is None else sendable(raised), first)
        raise theirs if raised is None else raised

    def close(self) -> None:
        """Free the communicator, as MPI has only some 2000; in an abandoned run it may be in use."""
        if self.handle is not None and not self.abandoned.is_set():
            self.handle.Free()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Run the block on every rank; if it raises on one of them, raise that error on all."""
        error: Exception | None = None
        try:
            yield
        except Exception as raised:
            error = raised
        self.settle(error)

    def on_root(self, work: Callable[[], T]) -> T:
        """Run a function on the root, and return its result, or raise its error, on every rank."""
        result: T | None = None
        with self.together():
            if self.is_root:
                result = work()
        shared: T = self.broadcast(result)
        return shared

    def broadcast(self, value: Any) -> Any:
        """Broadcast: return the value of the root."""
        return value if self.handle is None else self.handle.bcast(value)

    def gather_all(self, value: T) -> list[T]:
        """All-gather: return the values of all ranks, by rank."""
        return [value] if self.handle is None else self.handle.allgather(value)

    def exchange(self, sends: Sequence[tuple[int, Bytes]], receives: Sequence[tuple[int, Bytes]]) -> None:
        """Send buffers to ranks and fill others from ranks; between two ranks in the order of the lists."""
        if self.handle is not None:
            incoming = [self.handle.Irecv(buffer, rank) for rank, buffer in receives]
            self._wait([*incoming, *(self.handle.Isend(buffer, rank) for rank, buffer in sends)])

    def _wait(self, requests: "list[MPI.Request]") -> None:
        from mpi4py import MPI

        turns = 0
        while not MPI.Request.Testall(requests):
            if self.abandoned.is_set():
                raise AbandonedError
            turns += 1
            time.sleep(_SHORT if turns < _TURNS else _LONG)


def sendable(error: BaseException) -> BaseException:
    """Return an error that can be sent to other ranks.

    This is the error itself if it can be pickled, otherwise an error of its nearest suitable base class with its
    message.
    """
    ways: list[Callable[[], object]] = [lambda: error, *(partial(kind, str(error)) for kind in type(error).__mro__)]
    for make in ways:
        with suppress(Exception):
            travels = make()
            anew = pickle.loads(pickle.dumps(travels))
            if type(anew) is type(travels) and str(anew) == str(error):
                return cast(BaseException, travels)
    return Exception(str(error))


@contextmanager
def create_together(channel: Channel, path: Path) -> Iterator[Path]:
    """Yield a temporary folder, the same on all ranks, which is renamed to ``path`` at the end of the block.

    The block must fail on all ranks or on none; on failure the folder is removed, and an existing ``path`` is
    unchanged. Raises OutputError for system errors.
    """
    made = path.with_name(f".{path.name}.part")
    with channel.together(), guarded(path):
        if channel.is_root:
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir()
    try:
        yield made
        with channel.together(), guarded(path):
            if channel.is_root:
                shutil.rmtree(path, ignore_errors=True)
                os.replace(made, path)
                sync(path.parent)
    except OutputError:
        if channel.is_root:
            shutil.rmtree(made, ignore_errors=True)
        raise
