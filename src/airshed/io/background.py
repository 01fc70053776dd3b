"""Work beside the computation: values that are read ahead, a thread that writes behind, and the copies that it makes.

A copy is made by the writer thread beside the next step, or by the computation before a step that changes the original.
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
    """Values by key that a worker thread makes before they are requested.

    make  returns the value of a key, on a thread of the pool; it raises its error where the value is requested
    """

    def __init__(self, make: Callable[[K], T]) -> None:
        self._make, self._futures = make, dict[K, Future[T]]()

    def prepare(self, keys: Iterable[K], pool: Executor) -> None:
        """Have the values of these keys made, in this order; what was prepared of others is dropped."""
        self._futures = {key: self._futures.get(key) or pool.submit(self._make, key) for key in keys}

    def take(self, key: K, make: Callable[[K], T] | None = None) -> T:
        """Return the value of a key; one that was not prepared is made now, on the calling thread, by `make` if given.

        What was prepared of other keys stays prepared.
        """
        future = self._futures.pop(key, None)
        return (make or self._make)(key) if future is None else future.result()

    def wait(self) -> None:
        """Return when no value is being made."""
        wait(self._futures.values())

    def clear(self) -> None:
        """Drop what was prepared."""
        self._futures = {}


class Copy:
    """A copy that is made once: by the writer thread, or by the computation before it changes the original.

    make  makes it; it is called once, and dropped then with what it holds of the original
    """

    def __init__(self, make: Callable[[], None]) -> None:
        self._make: Callable[[], None] | None = make
        self._turn = threading.Lock()

    def ensure(self) -> bool:
        """Return when the copy is made, and whether this call made it; raises its error."""
        with self._turn:
            if self._make is None:
                return False
            self._make()
            self._make = None
            return True


class PendingCopies:
    """Copies of a model's fields that are still to be made, and the step before which they must be."""

    def __init__(self) -> None:
        self._copies: deque[tuple[int, Callable[[], object]]] = deque()

    def add(self, until: int, ensure: Callable[[], object]) -> None:
        """Add a function that makes a copy, or waits for it, to be called when the model has made so many steps."""
        self._copies.append((until, ensure))

    def release(self, steps: int) -> None:
        """Return when all is copied that the next step may change, of a model that has made so many steps."""
        while self._copies and self._copies[0][0] <= steps:
            self._copies.popleft()[1]()

    def steps_free(self, steps: int, most: int) -> int:
        """Return how many more steps, of `most`, change nothing that was lent; after :meth:`release`, 1 at least.

        Whether a copy has been made meanwhile does not count, so that all ranks have the same answer.
        """
        return min([most, *(until - steps for until, _ in self._copies)])


LIMIT: Final = 512 * 1024 * 1024
"""Bytes of copies that may wait for the thread; one job alone may hold more."""

_CAPACITY: Final = 64
_PATIENCE: Final = 2.0
"""Seconds that a run which ends by an error lets other ranks come to what waits here."""

Job = Callable[[], None]


@dataclass(frozen=True)
class Traffic:
    """What went through a writer.

    bytes    given to it
    written  [s] its thread was at work, or the caller for what it did itself
    waited   [s] the caller waited: for a place, for what it did itself, and for the end
    """

    bytes: int
    written: float
    waited: float

    @property
    def hidden(self) -> float:
        """The share of the writing that the caller did not wait for."""
        return max(1.0 - self.waited / self.written, 0.0) if self.written > 0.0 else 1.0


class BackgroundWriter:
    """Runs jobs one after the other on its own thread; jobs that hold more than ``limit`` bytes make the caller wait.

    The order is part of the contract: a restart is published after the records that were submitted before it. The
    first error of a job stops all later ones and is raised in the caller by every following call.
    """

    def __init__(self, capacity: int = _CAPACITY, limit: int = LIMIT, bandwidth: float | None = None) -> None:
        """Start the thread; a ``bandwidth`` [byte/s] makes each job as slow as a disk of that speed, for trials."""
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
        """What went through so far."""
        return Traffic(self._bytes, self._written, self._waited)

    @property
    def failed(self) -> bool:
        """Whether a job has failed."""
        return self._error is not None

    def submit(self, job: Job, size: int = 0) -> None:
        """Queue a job that holds ``size`` bytes, and wait for a place; raises the error of an earlier one."""
        self._raise_error()
        self.enqueue(job, size)

    def enqueue(self, job: Job, size: int = 0) -> None:
        """Queue a job and wait for a place, whatever became of earlier ones: after an error it is left undone."""
        self._pause(lambda: len(self._jobs) < self._capacity and (not self._held or self._held + size <= self._limit))
        with self._changed:
            self._jobs.append((job, size))
            self._held += size
            self._bytes += size
            self._changed.notify_all()

    def do(self, job: Job, size: int = 0) -> None:
        """Do a job on this thread, after those that wait; raises its error."""
        self.wait()
        with self.counted(size):
            began = time.perf_counter()
            job()
            self._slow_down(began, size)

    @contextmanager
    def counted(self, size: int = 0) -> Iterator[None]:
        """Count what the caller does in the block as writing that it waited for."""
        began = time.perf_counter()
        yield
        spent = time.perf_counter() - began
        with self._changed:
            self._bytes += size
            self._written += spent
            self._waited += spent

    def ensure(self, copy: Copy) -> None:
        """Have a copy made, by the thread or else by the caller, before its original changes."""
        began = time.perf_counter()
        mine = copy.ensure()
        spent = time.perf_counter() - began
        with self._changed:
            self._waited += spent
            self._written += spent if mine else 0.0

    def wait(self) -> None:
        """Return when all jobs are done; raises the error of one that failed."""
        self._pause(lambda: not self._jobs and not self._busy)
        self._raise_error()

    def close(self, abandon: Job | None = None) -> None:
        """Finish the waiting jobs and end the thread; errors stay unraised, as a run that failed closes too.

        abandon  frees a job that waits for other ranks, which may never come; it is called after a moment
        """
        with self._changed:
            self._ends = True
            self._changed.notify_all()
        if threading.current_thread() is self._thread:  # it collected the garbage that held its owner
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
                except BaseException as error:  # it belongs to the caller's thread, whatever it is
                    self._error = error
                with self._changed:
                    self._written += time.perf_counter() - began
            del job  # with the copies that it holds
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
