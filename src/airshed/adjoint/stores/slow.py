"""A store as slow as a disk of a given speed, for trials."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from airshed.adjoint.stores.store import Arrays, OuterStore, Store, size_of


class SlowStore(OuterStore):
    """Hands everything to another store, and sleeps as long as a disk would take longer.

    bandwidth  [byte/s] of writing and of reading
    """

    def __init__(self, inner: Store, bandwidth: float) -> None:
        super().__init__(inner)
        self._bandwidth = bandwidth

    def put(self, key: str, arrays: Arrays) -> None:
        """Keep arrays; see :class:`airshed.adjoint.stores.store.Store`."""
        with self._slowed() as taken:
            self._inner.put(key, arrays)
            taken.append(size_of(arrays))

    def get(self, key: str) -> Arrays:
        """Return arrays; see :class:`airshed.adjoint.stores.store.Store`."""
        with self._slowed() as taken:
            arrays = self._inner.get(key)
            taken.append(size_of(arrays))
        return arrays

    @contextmanager
    def _slowed(self) -> Iterator[list[int]]:
        """Let the block take as long as the bytes that it appends."""
        began, taken = time.monotonic(), list[int]()
        yield taken
        time.sleep(max(began + sum(taken) / self._bandwidth - time.monotonic(), 0.0))
