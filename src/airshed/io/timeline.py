"""What stands at instants, or holds from one to the next: made when it is asked for, in any order, and ahead of time.

A run asks forwards, an adjoint backwards, and who looks at an hour jumps there. What is made depends on its instant
alone, so that all of them find the same bits.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, wait
from functools import partial
from math import inf, nextafter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class Spans(Protocol):
    """How time is cut: into hours, or between the instants of some data."""

    def begin_of(self, seconds: float) -> float:
        """When the span began that holds a time [s]; the first one holds all that is earlier."""
        ...

    def next_change(self, seconds: float) -> float:
        """When the next span begins [s]; infinity where there is none."""
        ...


class Listed:
    """Spans between instants [s] in rising order; the last one has no end."""

    def __init__(self, times: Sequence[float]) -> None:
        self.times = times

    def begin_of(self, seconds: float) -> float:
        """When the span began that holds a time; see :class:`Spans`."""
        return self.times[max(bisect_right(self.times, seconds) - 1, 0)]

    def next_change(self, seconds: float) -> float:
        """When the next span begins; see :class:`Spans`."""
        later = bisect_right(self.times, seconds)
        return self.times[later] if later < len(self.times) else inf


class Between(NamedTuple, Generic[T]):
    """What stands at the instants around a time, and where the time lies between them, 0 to 1."""

    before: T
    after: T
    weight: float


class Timeline(Generic[T]):
    """Something for each span of time, by the time [s] at which it begins.

    make    makes it, on the thread that asks
    aside   makes it on a thread of a pool; :meth:`read_ahead` lets that happen
    finish  is given what makes it, or has it from the pool, and returns it: on the thread that asks, where ranks meet
    keep    how many are kept: those that are nearest to the one that was asked for last
    """

    def __init__(
        self, spans: Spans, make: Callable[[float], Any], *, aside: Callable[[float], Any] | None = None,
        finish: Callable[[Callable[[], Any]], T] = lambda make: make(), keep: int = 2,
    ) -> None:  # fmt: skip
        self._spans, self._make, self._aside, self._finish, self._keep = spans, make, aside or make, finish, keep
        self._kept: dict[float, T] = {}
        self._ahead: tuple[float, Future[Any]] | None = None
        self._seen: float | None = None
        self.backwards = False

    def of(self, begin: float) -> T:
        """Return what belongs to the span that begins at a time."""
        if begin not in self._kept:
            made = self._finish(partial(self._made, begin))
            nearest = sorted({*self._kept, begin}, key=lambda each: abs(each - begin))[: self._keep]
            self._kept = {each: made if each == begin else self._kept[each] for each in nearest}
        return self._kept[begin]

    def clear(self) -> None:
        """Give up all that was made, since what it is made of has changed."""
        if self._ahead is not None:
            wait([self._ahead[1]])
        self._ahead, self._kept = None, {}

    def at(self, seconds: float) -> Between[T]:
        """Return what stands at the instants around a time; beyond the first and the last one that one, twice."""
        begin, end = self._spans.begin_of(seconds), self._spans.next_change(seconds)
        before = self.of(begin)
        if end == inf or seconds <= begin:
            return Between(before, before if end == inf else self.of(end), 0.0)
        return Between(before, self.of(end), (seconds - begin) / (end - begin))

    def travel(self, seconds: float) -> bool:
        """Take note of where somebody is, and say whether they go backwards: as they did if they have not moved."""
        if self._seen is not None and seconds != self._seen:
            self.backwards = seconds < self._seen
        self._seen = seconds
        return self.backwards

    def following(self, seconds: float) -> float | None:
        """The begin of the span behind the one that holds a time, in the direction of travel; None at an end."""
        if not self.backwards:
            after = self._spans.next_change(seconds)
            return None if after == inf else after
        begin = self._spans.begin_of(seconds)
        before = self._spans.begin_of(nextafter(begin, -inf))
        return before if before < begin else None

    def read_ahead(self, seconds: float, pool: Executor | None) -> None:
        """Let a thread of a pool make what follows the span that holds a time, as somebody travels; see :meth:`travel`.

        What lies behind them is given up. Without a pool that is all: what follows is made when it is asked for.
        """
        begin, following = self._spans.begin_of(seconds), self.following(seconds)
        behind = [each for each in self._kept if each != begin and (each > begin) == self.backwards]
        for each in behind:
            del self._kept[each]
        if pool is None or following is None or following in self._kept:
            return
        if self._ahead is None or self._ahead[0] != following:
            self._ahead = following, pool.submit(self._aside, following)

    def _made(self, begin: float) -> Any:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            wait([ahead[1]])  # it shares with what is made here
            if ahead[0] == begin:
                return ahead[1].result()
        return self._make(begin)
