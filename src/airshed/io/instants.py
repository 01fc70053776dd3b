"""Input by instants: a thread reads the next instant while the computation uses the last few.

At the start of a run only the first instants are read, and only a few are held. Only the computing thread calls MPI,
when it takes an instant, in the same step on all ranks; the thread that reads ahead uses files alone. Its errors are
raised on all ranks when the instant is taken. Backwards in time, as in an adjoint, the instant before is read ahead.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import DataError
from airshed.io.channel import sendable
from airshed.parallel.communicator import Communicator

Fields = Mapping[str, NDArray[Any]]


class Instants:
    """The fields of each of ``count`` instants, of which those are held that were last taken.

    read    returns the fields of an instant, or with ``sends`` those of all ranks, by rank; None where others read
    sends   whether the first rank reads for all
    finish  closes the files

    Called with a number it returns the fields of an instant; one that is not held is read immediately, and kept until
    another one is. With ``sends`` that is a DataError.
    """

    def __init__(
        self, count: int, read: Callable[[int], Any] | None, ranks: Communicator, *, sends: bool = False,
        finish: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._count, self._read, self._ranks, self._sends, self._finish = count, read, ranks, sends, finish
        self._held: dict[int, Fields] = {}
        self._other: dict[int, Fields] = {}
        self._ahead: tuple[int, Future[Any]] | None = None
        self._first: int | None = None
        self._backwards = False
        self._thread: ThreadPoolExecutor | None = None

    def __call__(self, index: int) -> Fields:
        """Return the fields of an instant."""
        held = self._held.get(index)
        if held is not None:
            return held
        if self._sends or self._read is None:
            raise DataError(
                f"instant {index} of the weather is not at hand: the first rank reads and sends what the present hours "
                'need; let each rank read for itself with parallel.input = "parallel"'
            )
        if index not in self._other:
            self._other = {index: self._read(index)}
        return self._other[index]

    def take(self, indices: Iterable[int]) -> None:
        """Hold these instants and no others, and let the thread read the next one; all ranks together.

        That is the one after the last, or the one before the first where these lie just before those of the last time.

        raises  DataError on all ranks if one of them cannot read an instant
        """
        wanted, self._other = list(indices), {}
        if self._first is not None and wanted[0] != self._first:
            self._backwards = wanted[0] < self._first <= wanted[-1] + 1
        self._first = wanted[0]
        self._held = {index: fields for index, fields in self._held.items() if index in wanted}
        for index in wanted:
            if index not in self._held:
                self._held = {**self._held, index: self._received(index)}
        self._read_ahead(wanted[0] - 1 if self._backwards else wanted[-1] + 1)

    def close(self) -> None:
        """End the thread, and close the files."""
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
        self._thread = self._ahead = None
        self._finish()

    def _received(self, index: int) -> Fields:
        """Return the fields of an instant, read here or sent by the first rank."""
        mine = None
        with together(self._ranks):
            mine = self._read_now(index)
        return cast(Fields, self._ranks.scatter(mine) if self._sends else mine)

    def _read_now(self, index: int) -> Any:
        """Return what this rank reads of an instant, from the thread where that was at it."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == index:
            return ahead[1].result()
        return None if self._read is None else self._read(index)

    def _read_ahead(self, index: int) -> None:
        if self._read is None or not 0 <= index < self._count or index in self._held:
            return
        if self._ahead is None or self._ahead[0] != index:
            self._thread = self._thread or ThreadPoolExecutor(1, "airshed-reader")
            self._ahead = index, self._thread.submit(self._read, index)


@contextmanager
def together(ranks: Communicator) -> Iterator[None]:
    """Run the block on every rank; when it raises on one of them, raise the error of the lowest such rank on all."""
    error: Exception | None = None
    try:
        yield
    except Exception as raised:
        error = raised
    if ranks.largest(np.array([float(error is not None)]))[0] == 0.0:
        return
    if ranks.size == 1 and error is not None:
        raise error
    errors = ranks.gather_all(None if error is None else sendable(error))
    raise next(each for each in errors if each is not None)
