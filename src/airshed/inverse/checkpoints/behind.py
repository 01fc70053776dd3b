"""A store that writes behind the run and reads ahead of it, on one thread."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from airshed.inverse.checkpoints.stores import Arrays, MemoryStore, Store, size_of
from airshed.io.background import LIMIT

_AHEAD: Final = 2
"""Number of keys that are prefetched."""


class BehindStore:
    """Hands everything to another store, in order, on a thread of its own.

    What is put is copied, into memory of what has been written, and written asynchronously. Keys that were put
    before the last requested one are prefetched. An error of writing is raised by the next call, one of reading by the
    call that requests the key.

    limit  bytes of copies that may wait to be written; one alone may be larger
    """

    def __init__(self, inner: Store, limit: int = LIMIT) -> None:
        self._inner, self._limit = inner, limit
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="airshed-store")
        self._jobs: deque[tuple[Future[None], str | None]] = deque()
        self._waiting, self._serial = MemoryStore(), 0
        self._reads: dict[str, Future[Arrays]] = {}
        self._order = dict.fromkeys(inner.keys)

    @property
    def bytes(self) -> int:
        """Bytes in the other store when all is written."""
        self.wait()
        return self._inner.bytes

    @property
    def keys(self) -> list[str]:
        """The keys, also of what waits to be written."""
        return list(self._order)

    def put(self, key: str, arrays: Arrays) -> None:
        """Copy arrays to be written; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        size = size_of(arrays)
        while self._jobs and (self._jobs[0][0].done() or self._waiting.bytes + size > self._limit):
            self._finish_oldest()
        self._reads.pop(key, None)
        self._order.pop(key, None)
        self._order[key] = None
        self._serial += 1
        name = str(self._serial)
        self._waiting.put(name, arrays)
        self._jobs.append((self._thread.submit(self._inner.put, key, self._waiting.get(name)), name))

    def get(self, key: str) -> Arrays:
        """Return what was read ahead, or read it; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        self._raise_errors()
        if key not in self._order:
            raise KeyError(key)
        asked = self._reads.pop(key, None) or self._read(key)
        at = self.keys.index(key)
        nearest = self.keys[max(at - _AHEAD, 0) : at][::-1]
        self._reads = {each: self._reads.get(each) or self._read(each) for each in nearest}
        return asked.result()

    def drop(self, key: str) -> None:
        """Drop arrays after pending writes; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        self._raise_errors()
        del self._order[key]
        self._reads.pop(key, None)
        self._jobs.append((self._thread.submit(self._inner.drop, key), None))

    def wait(self) -> None:
        """Return when all is written, and what is read ahead is there; raises an error of writing."""
        while self._jobs:
            self._finish_oldest()
        for read in self._reads.values():
            read.exception()

    def close(self) -> None:
        """Leave what is not yet done, end the thread and close the other store."""
        self._thread.shutdown(cancel_futures=True)
        self._inner.close()
        self._waiting.close()

    def _read(self, key: str) -> Future[Arrays]:
        return self._thread.submit(self._inner.get, key)

    def _raise_errors(self) -> None:
        while self._jobs and self._jobs[0][0].done():
            self._finish_oldest()

    def _finish_oldest(self) -> None:
        """Wait for the oldest job; its copy may be overwritten then."""
        job, name = self._jobs.popleft()
        try:
            job.result()
        finally:
            if name is not None:
                self._waiting.drop(name)
