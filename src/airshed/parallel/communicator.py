"""How ranks speak to each other: the few collective calls that the model makes, over MPI or with nobody.

Every rank makes the same calls in the same order, from one thread. Arrays keep their type and shape. No call depends on
the order in which ranks answer: greatest values and sums of integers are the same in any order.
"""

import sys
import time
from collections.abc import Sequence
from functools import cached_property, lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.errors import AirshedError
from airshed.parallel.environment import choose_library, launched, ranks_asked_for
from airshed.parallel.waiting import all_of, barrier

if TYPE_CHECKING:
    from mpi4py import MPI

AnyArray = npt.NDArray[Any]

_ABANDONED: "Final[list[tuple[MPI.Request, AnyArray, AnyArray]]]" = []
"""What MPI still reads and writes after an error broke off the wait for it."""


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


class MpiRanks:
    """The ranks of an MPI communicator.

    wait            [s] spent so far in greatest values and sums, with waiting for the last rank to ask for them
    fails_together  whether somebody sees to it already that an error of some ranks ends all, see ``failure``
    """

    def __init__(self, handle: "MPI.Intracomm") -> None:
        self.handle, self.wait, self.fails_together = handle, 0.0, False
        self.rank, self.size = handle.Get_rank(), handle.Get_size()

    @cached_property
    def line(self) -> "MPI.Intracomm":
        """A communicator for last words, on which nothing else is ever on its way; all ranks ask for it together."""
        barrier(self.handle)  # asleep, unlike in Dup
        return self.handle.Dup()

    def largest(self, values: AnyArray) -> AnyArray:
        """Return the greatest values of all ranks, element by element; NaN counts as infinite."""
        return self._combined(_comparable(values), np.maximum)

    def total(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the sums of integers over all ranks, element by element."""
        return self._combined(counts, np.add)

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

    def _combined(self, given: AnyArray, combine: np.ufunc) -> AnyArray:
        """Greatest values, np.maximum, or sums, np.add, of all ranks; signals are answered meanwhile."""
        from mpi4py import MPI

        began, given = time.perf_counter(), np.ascontiguousarray(given)
        result = np.empty_like(given)
        request = self.handle.Iallreduce(given, result, MPI.MAX if combine is np.maximum else MPI.SUM)
        try:
            all_of([request])
        except BaseException:
            _ABANDONED.append((request, given, result))
            raise
        self.wait += time.perf_counter() - began
        return result


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
