"""How ranks speak to each other: the few collective calls that the model makes, over MPI or with nobody.

Every rank makes the same calls in the same order, from one thread. Arrays keep their type and shape. No call depends on
the order in which ranks answer: greatest values and sums of integers are the same in any order.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.errors import AirshedError
from airshed.parallel.environment import choose_library, launched, ranks_asked_for

if TYPE_CHECKING:
    from mpi4py import MPI

    from airshed.parallel.boards import Boards

AnyArray = npt.NDArray[Any]
Later = Callable[[], AnyArray]
"""Waits for a result that is under way, and returns it; to be called once."""

_UNDER_WAY: "Final[list[tuple[MPI.Request, AnyArray, AnyArray]]]" = []
"""What MPI still reads and writes: that stays, also where nobody asks for it any more, as after an error."""


class Communicator(Protocol):
    """A group of ranks, of which this is one."""

    rank: int
    size: int

    @property
    def handle(self) -> "MPI.Intracomm | None":
        """The MPI communicator itself, for what speaks MPI on its own; None with nobody."""
        ...

    def largest(self, values: AnyArray) -> AnyArray:
        """Return the greatest values of all ranks, element by element; NaN counts as infinite."""
        ...

    def total(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the sums of integers over all ranks, element by element."""
        ...

    def start_largest(self, values: AnyArray) -> Later:
        """Begin :meth:`largest`, and return what waits for it; all ranks begin and wait in the same order."""
        ...

    def start_total(self, counts: npt.NDArray[np.int64]) -> Later:
        """Begin :meth:`total`, and return what waits for it."""
        ...

    def join_crew(self, assist: Callable[[], float], *, boards: bool) -> None:
        """Call this again and again from now on while others are waited for; all ranks together.

        assist  returns for how long [s] it did something else, which is no waiting
        boards  whether greatest values and sums need no messages where all ranks share memory
        """
        ...

    def leave_crew(self, assist: Callable[[], float]) -> None:
        """Call this no longer, and find sums by messages; nothing where another crew has been joined since."""
        ...

    def gather(self, value: Any) -> list[Any] | None:
        """Return what every rank gave, by rank, to the first; None to the others."""
        ...

    def gather_all(self, value: Any) -> list[Any]:
        """Return what every rank gave, by rank, to all."""
        ...

    def broadcast(self, value: Any) -> Any:
        """Return what the first rank gave, to all."""
        ...

    def scatter(self, values: Sequence[Any] | None) -> Any:
        """Return to each rank its own of the values that the first one gave, by rank."""
        ...

    def barrier(self) -> None:
        """Return when all ranks have come here."""
        ...


class Alone:
    """One rank: every call is the identity."""

    rank = 0
    size = 1
    handle = None

    def largest(self, values: AnyArray) -> AnyArray:
        """Return the values, NaN as infinite."""
        return _comparable(values)

    def total(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the counts."""
        return counts

    def start_largest(self, values: AnyArray) -> Later:
        """Return what returns the values, NaN as infinite."""
        return lambda: _comparable(values)

    def start_total(self, counts: npt.NDArray[np.int64]) -> Later:
        """Return what returns the counts."""
        return lambda: counts

    def join_crew(self, assist: Callable[[], float], *, boards: bool) -> None:
        """Return: nobody is waited for."""

    def leave_crew(self, assist: Callable[[], float]) -> None:
        """Return."""

    def gather(self, value: Any) -> list[Any] | None:
        """Return the one value."""
        return [value]

    def gather_all(self, value: Any) -> list[Any]:
        """Return the one value."""
        return [value]

    def broadcast(self, value: Any) -> Any:
        """Return the value."""
        return value

    def scatter(self, values: Sequence[Any] | None) -> Any:
        """Return the one value."""
        assert values is not None
        return values[0]

    def barrier(self) -> None:
        """Return."""


_EAGER: Final = 5e-4
"""[s] in which one who waits looks again at once; then it sleeps between, and leaves the core to who has work."""

_NAP: Final = 5e-5
"""[s], much less than has been waited for already."""


def give_way() -> float:
    """Let another process have the core: where ranks share cores, the one that is waited for may need this one."""
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    return 0.0


class _Message:
    """Greatest values, np.maximum, or sums, np.add, of all ranks by MPI, under way."""

    def __init__(self, handle: "MPI.Intracomm", given: AnyArray, combine: np.ufunc) -> None:
        from mpi4py import MPI

        self._result = np.empty_like(given)
        self._request = handle.Iallreduce(given, self._result, MPI.MAX if combine is np.maximum else MPI.SUM)
        _UNDER_WAY[:] = [each for each in _UNDER_WAY if not each[0].Test()] + [(self._request, given, self._result)]

    def arrived(self) -> bool:
        """Let MPI see to it, and return whether it is done."""
        return bool(self._request.Test())

    def result(self) -> AnyArray:
        """Return what came of it."""
        return self._result


class MpiRanks:
    """The ranks of an MPI communicator.

    boards          by which ranks of one machine find greatest values and sums; None for messages
    wait            [s] spent so far in greatest values and sums, with waiting for the last rank to ask for them
    meanwhile       is called while they are waited for, see :meth:`join_crew`
    fails_together  whether somebody sees to it already that an error of some ranks ends all, see ``failure``
    """

    def __init__(self, handle: "MPI.Intracomm") -> None:
        self.handle, self.wait, self.fails_together = handle, 0.0, False
        self.meanwhile: Callable[[], float] = give_way
        self.boards: Boards | None = None
        self.rank, self.size = handle.Get_rank(), handle.Get_size()

    def join_crew(self, assist: Callable[[], float], *, boards: bool) -> None:
        """See :class:`Communicator`."""
        from airshed.parallel.boards import make_boards  # whose few lines of code are compiled for who needs them

        self.meanwhile = assist
        self.boards = make_boards(self.handle, self.until) if boards else None

    def leave_crew(self, assist: Callable[[], float]) -> None:
        """See :class:`Communicator`; where an error met ranks apart, sums on their boards are out of step."""
        if self.meanwhile == assist:
            self.meanwhile, self.boards = give_way, None

    @cached_property
    def line(self) -> "MPI.Intracomm":
        """A communicator for last words, on which nothing else is ever on its way; all ranks ask for it together."""
        return self.handle.Dup()

    def largest(self, values: AnyArray) -> AnyArray:
        """Return the greatest values of all ranks, element by element; NaN counts as infinite."""
        return self.start_largest(values)()

    def total(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the sums of integers over all ranks, element by element."""
        return self.start_total(counts)()

    def start_largest(self, values: AnyArray) -> Later:
        """Begin the search for the greatest values."""
        return self._started(_comparable(values), np.maximum)

    def start_total(self, counts: npt.NDArray[np.int64]) -> Later:
        """Begin the sums of integers."""
        return self._started(counts, np.add)

    def gather(self, value: Any) -> list[Any] | None:
        """Return what every rank gave, by rank, to the first; None to the others."""
        return self.handle.gather(value)

    def gather_all(self, value: Any) -> list[Any]:
        """Return what every rank gave, by rank, to all."""
        return self.handle.allgather(value)

    def broadcast(self, value: Any) -> Any:
        """Return what the first rank gave, to all."""
        return self.handle.bcast(value)

    def scatter(self, values: Sequence[Any] | None) -> Any:
        """Return to each rank its own of the values that the first one gave, by rank."""
        return self.handle.scatter(values)

    def barrier(self) -> None:
        """Return when all ranks have come here."""
        self.handle.Barrier()

    def until(self, arrived: Callable[[], bool]) -> None:
        """Wait, and do something else meanwhile, until what is asked returns true."""
        began = idle_since = time.perf_counter()
        while not arrived():
            elsewhere = self.meanwhile()
            now = time.perf_counter()
            if elsewhere:
                began, idle_since = began + elsewhere, now
            elif now - idle_since > _EAGER:
                time.sleep(_NAP)
        self.wait += time.perf_counter() - began

    def _started(self, given: AnyArray, combine: np.ufunc) -> Later:
        given = np.ascontiguousarray(given)
        boards = self.boards if self.boards is not None and given.nbytes <= self.boards.most else None
        under_way = _Message(self.handle, given, combine) if boards is None else boards.begin(given, combine)

        def finish() -> AnyArray:
            self.until(under_way.arrived)
            return under_way.result()

        return finish


@lru_cache(maxsize=1)
def world() -> Communicator:
    """Return all ranks that were started together; a process that no launcher started is alone, and loads no MPI.

    Raises AirshedError where the launcher belongs to another MPI than the library, which gives many worlds of one.
    """
    if not launched():
        return Alone()
    choose_library()
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise AirshedError(
            f"no MPI can be loaded ({str(error).splitlines()[0]}); `airshed doctor` tells more"
        ) from error
    ranks = MpiRanks(MPI.COMM_WORLD)
    asked = ranks_asked_for()
    if asked and ranks.size != asked:
        library = MPI.Get_library_version().splitlines()[0].strip("\0 ")
        raise AirshedError(
            f"{asked} ranks were started, but each sees a world of {ranks.size}: mpiexec belongs to another MPI "
            f"than the library in use ({library}); `airshed doctor` tells which are there"
        )
    if ranks.size == 1:
        return Alone()
    _end_all_on_error(ranks.handle)
    return ranks


def _end_all_on_error(handle: "MPI.Intracomm") -> None:
    """Let an exception that nobody catches, on any rank, end all: the others would wait for this one for ever."""
    tell = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        tell(kind, error, trace)
        sys.stderr.flush()
        handle.Abort(1)

    sys.excepthook = hook


def _comparable(values: AnyArray) -> AnyArray:
    return np.where(np.isnan(values), np.inf, values)
