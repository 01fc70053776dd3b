"""Background work: values read ahead, and a thread that writes and copies concurrently with the computation.

A copy is made by the writer thread during the next step, or by the computation before a step that changes the original.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")


class ReadAhead(Generic[K, T]):
    """Values by key that a worker thread computes in advance.

    make  returns the value of a key, on a thread of the pool; its error is raised when the value is requested
    """

    def __init__(self, make: Callable[[K], T]) -> None:
        self._make, self._futures = make, dict[K, Future[T]]()

    def prepare(self, keys: Iterable[K], pool: Executor) -> None:
        """Compute the values of these keys in this order; prepared values of other keys are discarded."""
        self._futures = {key: self._futures.get(key) or pool.submit(self._make, key) for key in keys}

    def take(self, key: K, make: Callable[[K], T] | None = None) -> T:
        """Return the value of a key; if not prepared, it is computed now, on the calling thread, by `make` if given.

        Prepared values of other keys remain.
        """
        future = self._futures.pop(key, None)
        return (make or self._make)(key) if future is None else future.result()

    def wait(self) -> None:
        """Wait until no value is being computed."""
        wait(self._futures.values())

    def clear(self) -> None:
        """Discard all prepared values."""
        self._futures = {}


class Copy:
    """Copy that is made once: by the writer thread, or by the computation before it changes the original.

    make  performs the copy; it is called once and then discarded, with its references to the original
    """

    def __init__(self, make: Callable[[], None]) -> None:
        self._make: Callable[[], None] | None = make
        self._turn = threading.Lock()

    def ensure(self) -> bool:
        """Wait until the copy is made, and return whether this call made it; raise its error."""
        with self._turn:
            if self._make is None:
                return False
            self._make()
            self._make = None
            return True


class PendingCopies:
    """Pending copies of a model's fields, and the step before which each must be made."""

    def __init__(self) -> None:
        self._copies: deque[tuple[int, Callable[[], object]]] = deque()

    def add(self, until: int, ensure: Callable[[], object]) -> None:
        """Add a function that makes a copy, or waits for it, to be called after the given number of steps."""
        self._copies.append((until, ensure))

    def release(self, steps: int) -> None:
        """Make all copies of fields that the next step may change, after the given number of steps."""
        while self._copies and self._copies[0][0] <= steps:
            self._copies.popleft()[1]()

    def steps_free(self, steps: int, most: int) -> int:
        """Return how many more steps, of `most`, change no original; at least 1 after :meth:`release`.

        Completed copies still count, so that all ranks get the same answer.
        """
        return min([most, *(until - steps for until, _ in self._copies)])


LIMIT: Final = 512 * 1024 * 1024
"""Limit of the bytes of queued copies; a single job may hold more."""

_CAPACITY: Final = 64
_PATIENCE: Final = 2.0
"""Seconds that a failed run allows other ranks to join the waiting jobs."""

Job = Callable[[], None]


@dataclass(frozen=True)
class Traffic:
    """Statistics of a writer.

    bytes    submitted
    written  [s] busy time of its thread, or of the caller for its own jobs
    waited   [s] waiting time of the caller: for queue space, for its own jobs, and at the end
    """

    bytes: int
    written: float
    waited: float

    @property
    def hidden(self) -> float:
        """Fraction of the writing time that is overlapped with computation."""
        return max(1.0 - self.waited / self.written, 0.0) if self.written > 0.0 else 1.0


class BackgroundWriter:
    """Thread that runs jobs in order; jobs of more than ``limit`` bytes in total block the caller.

    The order is part of the contract: a restart is published after the records that were submitted before it. The first
    error of a job stops all later jobs and is raised in the caller by every following call.
    """

    def __init__(self, capacity: int = _CAPACITY, limit: int = LIMIT, bandwidth: float | None = None) -> None:
        """Start the thread; a ``bandwidth`` [byte/s] slows each job to that disk speed, for tests."""
        self._capacity, self._limit, self._bandwidth = capacity, limit, bandwidth
        self._jobs: deque[tuple[Job, int]] = deque()
        self._held = 0
        self._busy = False
        self._ends = False
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        self._bytes, self._written, self._waited = 0, 0.0, 0.0
        self._thread = threading.Thread(target=self._work, name="airshed-writer", daemon=True)
        self._thread.start()

    @property
    def traffic(self) -> Traffic:
        """Statistics so far."""
        return Traffic(self._bytes, self._written, self._waited)

    @property
    def failed(self) -> bool:
        """True after a job has failed."""
        return self._error is not None

    def submit(self, job: Job, size: int = 0) -> None:
        """Queue a job that holds ``size`` bytes, waiting for space; raise the error of an earlier job."""
        self._raise_error()
        self.enqueue(job, size)

    def enqueue(self, job: Job, size: int = 0) -> None:
        """Queue a job, waiting for space, regardless of earlier errors; after an error it is not run."""
        self._pause(lambda: len(self._jobs) < self._capacity and (not self._held or self._held + size <= self._limit))
        with self._changed:
            self._jobs.append((job, size))
            self._held += size
            self._bytes += size
            self._changed.notify_all()

    def do(self, job: Job, size: int = 0) -> None:
        """Run a job on this thread, after all queued jobs; raise its error."""
        self.wait()
        with self.counted(size):
            began = time.perf_counter()
            job()
            self._slow_down(began, size)

    @contextmanager
    def counted(self, size: int = 0) -> Iterator[None]:
        """Count the block as writing time for which the caller waited."""
        began = time.perf_counter()
        yield
        spent = time.perf_counter() - began
        with self._changed:
            self._bytes += size
            self._written += spent
            self._waited += spent

    def ensure(self, copy: Copy) -> None:
        """Make a copy, on the writer thread or else here, before its original changes."""
        began = time.perf_counter()
        mine = copy.ensure()
        spent = time.perf_counter() - began
        with self._changed:
            self._waited += spent
            self._written += spent if mine else 0.0

    def wait(self) -> None:
        """Wait until all jobs are done; raise the error of a failed job."""
        self._pause(lambda: not self._jobs and not self._busy)
        self._raise_error()

    def close(self, abandon: Job | None = None) -> None:
        """Finish the queued jobs and end the thread; errors are not raised, since a failed run is closed too.

        abandon  releases a job that waits for other ranks, which may never arrive; it is called after a moment
        """
        with self._changed:
            self._ends = True
            self._changed.notify_all()
        if threading.current_thread() is self._thread:  # garbage collection of the owner ran on this thread
            return
        self._thread.join(_PATIENCE if abandon is not None else None)
        if abandon is not None and self._thread.is_alive():
            abandon()
            self._thread.join(_PATIENCE)

    def _pause(self, ready: Callable[[], bool]) -> None:
        began = time.perf_counter()
        with self._changed:
            self._changed.wait_for(ready)
            self._waited += time.perf_counter() - began

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._ends)
                if not self._jobs:
                    return
                job, size = self._jobs.popleft()
                self._busy = True
            if self._error is None:
                began = time.perf_counter()
                try:
                    job()
                    self._slow_down(began, size)
                except BaseException as error:  # any error belongs to the caller's thread
                    self._error = error
                with self._changed:
                    self._written += time.perf_counter() - began
            del job  # with its copies
            with self._changed:
                self._held -= size
                self._busy = False
                self._changed.notify_all()

    def _slow_down(self, began: float, size: int) -> None:
        if self._bandwidth is not None:
            time.sleep(max(began + size / self._bandwidth - time.perf_counter(), 0.0))

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error
