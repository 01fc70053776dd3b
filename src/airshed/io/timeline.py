"""Values at instants, or for spans between them, computed on demand in any order, or in advance.

A run moves forwards, an adjoint backwards, and a reader of a single hour moves directly to it. A value depends on its
instant alone, so that all of them get bitwise identical values.

:class:`Instants` reads them from files, on all ranks together. Only the first instants are read at the start of a run,
and only a few are held. Only the computing thread calls MPI, when it takes an instant, in the same step on all ranks;
the thread that reads ahead uses files alone. Its errors are raised on all ranks when the instant is taken.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from math import inf, nextafter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import DataError
from airshed.io.background import ReadAhead
from airshed.io.channel import sendable
from airshed.parallel.communicator import Communicator

T = TypeVar("T")


class Spans(Protocol):
    """Division of time: into hours, or between the instants of some data."""

    def begin_of(self, seconds: float) -> float:
        """Return the start of the span that contains a time [s]; the first span contains all earlier times."""
        ...

    def next_change(self, seconds: float) -> float:
        """Return the start of the next span [s]; infinity if there is none."""
        ...


class InstantSpans:
    """Spans between instants [s] in ascending order; the last one has no end."""

    def __init__(self, times: Sequence[float]) -> None:
        self.times = times

    def begin_of(self, seconds: float) -> float:
        """Return the start of the span that contains a time; see :class:`Spans`."""
        return self.times[max(bisect_right(self.times, seconds) - 1, 0)]

    def next_change(self, seconds: float) -> float:
        """Return the start of the next span; see :class:`Spans`."""
        later = bisect_right(self.times, seconds)
        return self.times[later] if later < len(self.times) else inf


class Bracket(NamedTuple, Generic[T]):
    """Values at the instants before and after a time, and the weight of the second one, 0 to 1."""

    before: T
    after: T
    weight: float


class Timeline(Generic[T]):
    """Value for each span of time, by the time [s] at which it begins.

    make    computes it, on the calling thread
    ahead   computes it on a thread of a pool, after :meth:`read_ahead`
    finish  receives a function that returns it, and completes it on the calling thread, with messages to other ranks
    keep    number of retained values: those nearest to the last one used
    """

    def __init__(
        self, spans: Spans, make: Callable[[float], Any], *, ahead: Callable[[float], Any] | None = None,
        finish: Callable[[Callable[[], Any]], T] = lambda make: make(), keep: int = 2,
    ) -> None:  # fmt: skip
        self._spans, self._make, self._finish, self._keep = spans, make, finish, keep
        self._kept: dict[float, T] = {}
        self._ahead = ReadAhead[float, Any](ahead or make)
        self._seen: float | None = None
        self.backwards = False

    def of(self, begin: float) -> T:
        """Return the value of the span that begins at a time."""
        if begin not in self._kept:
            made = self._finish(partial(self._made, begin))
            nearest = sorted({*self._kept, begin}, key=lambda each: abs(each - begin))[: self._keep]
            self._kept = {each: made if each == begin else self._kept[each] for each in nearest}
        return self._kept[begin]

    def clear(self) -> None:
        """Discard all values, since their input has changed."""
        self._ahead.wait()
        self._ahead.clear()
        self._kept = {}

    def at(self, seconds: float) -> Bracket[T]:
        """Return the values at the instants around a time; before the first and after the last instant, that one
        twice.
        """
        begin, end = self._spans.begin_of(seconds), self._spans.next_change(seconds)
        before = self.of(begin)
        if end == inf or seconds <= begin:
            return Bracket(before, before if end == inf else self.of(end), 0.0)
        return Bracket(before, self.of(end), (seconds - begin) / (end - begin))

    def travel(self, seconds: float) -> bool:
        """Record the present time, and return whether the direction is backwards; unchanged if time is."""
        if self._seen is not None and seconds != self._seen:
            self.backwards = seconds < self._seen
        self._seen = seconds
        return self.backwards

    def following(self, seconds: float) -> float | None:
        """Return the start of the next span in the direction of travel; None at an end."""
        if not self.backwards:
            after = self._spans.next_change(seconds)
            return None if after == inf else after
        begin = self._spans.begin_of(seconds)
        before = self._spans.begin_of(nextafter(begin, -inf))
        return before if before < begin else None

    def read_ahead(self, seconds: float, pool: Executor | None) -> None:
        """Compute the next value in the direction of travel, see :meth:`travel`, on a thread of a pool; discard past
        values.

        Without a pool the next value is computed on demand.
        """
        begin, following = self._spans.begin_of(seconds), self.following(seconds)
        behind = [each for each in self._kept if each != begin and (each > begin) == self.backwards]
        for each in behind:
            del self._kept[each]
        if pool is not None and following is not None and following not in self._kept:
            self._ahead.prepare([following], pool)

    def _made(self, begin: float) -> Any:
        self._ahead.wait()  # a value that is computed ahead shares data with this one
        made = self._ahead.take(begin, self._make)
        self._ahead.clear()
        return made


Fields = Mapping[str, NDArray[Any]]


class Instants:
    """Fields of each of ``count`` instants, of which the last ones taken are held.

    read    returns the fields of an instant, or with ``sends`` those of all ranks, by rank; None if other ranks read
    sends   whether the first rank reads for all
    finish  closes the files

    A call with a number returns the fields of an instant; an instant that is not held is read immediately, and held
    until the next one is read. With ``sends`` that is a DataError.
    """

    def __init__(
        self, count: int, read: Callable[[int], Any] | None, ranks: Communicator, *, sends: bool = False,
        finish: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._count, self._read, self._ranks, self._sends, self._finish = count, read, ranks, sends, finish
        self._ahead = ReadAhead[int, Any](read or (lambda index: None))
        self._held: dict[int, Fields] = {}
        self._other: dict[int, Fields] = {}
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
                f"instant {index} of the weather is not available: the first rank reads and sends only the present "
                'hours; let each rank read for itself with parallel.input = "parallel"'
            )
        if index not in self._other:
            self._other = {index: self._read(index)}
        return self._other[index]

    def take(self, indices: Iterable[int]) -> None:
        """Hold these instants and no others, and read the next one on the thread; collective.

        The next one follows the last, or precedes the first if these are just before those of the previous call.

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
        following = wanted[0] - 1 if self._backwards else wanted[-1] + 1
        if self._read is not None and 0 <= following < self._count and following not in self._held:
            self._thread = self._thread or ThreadPoolExecutor(1, "airshed-reader")
            self._ahead.prepare([following], self._thread)

    def close(self) -> None:
        """End the thread, and close the files."""
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
        self._thread = None
        self._ahead.clear()
        self._finish()

    def _received(self, index: int) -> Fields:
        """Return the fields of an instant, read here or sent by the first rank."""
        mine = None
        with together(self._ranks):
            mine = self._ahead.take(index)
        return cast(Fields, self._ranks.scatter(mine) if self._sends else mine)


@contextmanager
def together(ranks: Communicator) -> Iterator[None]:
    """Run the block on every rank; if it raises on some ranks, raise the error of the lowest of them on all."""
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
