"""The collective calls that the model makes, over MPI or for one rank alone; and waiting for MPI.

Every rank makes the same calls in the same order, from one thread. Arrays keep their type and shape. No
result depends on the order in which ranks answer: maxima and sums of integers are the same in any order.

MPI waits by polling. Here a wait polls for a moment and then sleeps between polls, the longer the longer it has waited,
for runs with more ranks than cores: with six ranks on two cores a barrier takes 0.8 ms, and 12 ms in MPI's own.
"""

import sys
import time
from collections.abc import Sequence
from functools import cached_property, lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.core.errors import AirshedError
from airshed.parallel.environment import choose_library, launched, requested_ranks

if TYPE_CHECKING:
    from mpi4py import MPI


_EAGER: Final = 200
"""Polls without a pause, about 0.1 ms."""
_PAUSE: Final = 2e-5
"""The first pause [s]."""
_LONGER: Final = 1.02
"""How much longer each pause is than the one before: a fiftieth of the time waited, at most, comes on top of it."""
_LONGEST: Final = 1e-3
"""No pause [s] is longer."""


def barrier(handle: "MPI.Intracomm") -> None:
    """Return when all ranks have called this."""
    request = handle.Ibarrier()
    asked = 0
    while not request.Test():
        asked = _rest(asked)


def any_of(requests: "list[MPI.Request]") -> int:
    """Return the number of a request that is done and was not before."""
    from mpi4py import MPI

    asked = 0
    while True:
        number, done = MPI.Request.Testany(requests)
        if done:
            return number
        asked = _rest(asked)


def all_of(requests: "list[MPI.Request]") -> None:
    """Return when all requests are done."""
    from mpi4py import MPI

    asked = 0
    while not MPI.Request.Testall(requests):
        asked = _rest(asked)


def _rest(asked: int) -> int:
    if asked >= _EAGER:
        time.sleep(min(_PAUSE * _LONGER ** (min(asked, 1000) - _EAGER), _LONGEST))
    return asked + 1


_ABANDONED: "Final[list[tuple[MPI.Request, AnyArray, AnyArray]]]" = []
"""Buffers that MPI may still use after an error interrupted a wait."""


class Communicator:
    """A group of ranks, of which this is one. This base is one rank by itself: every call is the identity."""

    rank, size = 0, 1
    handle: "MPI.Intracomm | None" = None
    """The MPI communicator itself, for code that calls MPI; None for one rank alone."""

    def largest(self, values: AnyArray) -> AnyArray:
        """Return the maximum over all ranks, element by element; NaN counts as infinite."""
        return np.where(np.isnan(values), np.inf, values)

    def total(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the sums of integers over all ranks, element by element."""
        return counts

    def gather(self, value: Any) -> list[Any] | None:
        """Gather: return the values of all ranks, by rank, on the first; None on the others."""
        return [value]

    def gather_all(self, value: Any) -> list[Any]:
        """All-gather: return the values of all ranks, by rank."""
        return [value]

    def broadcast(self, value: Any) -> Any:
        """Broadcast: return the value of the first rank."""
        return value

    def scatter(self, values: Sequence[Any] | None) -> Any:
        """Scatter: return this rank's one of the values, by rank, of the first rank."""
        assert values is not None
        return values[0]

    def barrier(self) -> None:
        """Return when all ranks have called this."""


class SingleRank(Communicator):
    """One rank by itself."""


class MpiRanks(Communicator):
    """The ranks of an MPI communicator; see :class:`Communicator` for its calls.

    wait            [s] spent so far in maxima and sums, with waiting for the last rank
    fails_together  whether an error of some ranks already ends all, see ``failure``
    """

    handle: "MPI.Intracomm"

    def __init__(self, handle: "MPI.Intracomm") -> None:
        self.handle, self.wait, self.fails_together = handle, 0.0, False
        self.rank, self.size = handle.Get_rank(), handle.Get_size()

    @cached_property
    def line(self) -> "MPI.Intracomm":
        """A communicator for error messages alone; all ranks ask for it together."""
        barrier(self.handle)  # ranks sleep in it; in Dup they poll
        return self.handle.Dup()

    def largest(self, values: AnyArray) -> AnyArray:
        """See the base."""
        return self._combined(super().largest(values), np.maximum)

    def total(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """See the base."""
        return self._combined(counts, np.add)

    def gather(self, value: Any) -> list[Any] | None:
        """See the base."""
        return self.handle.gather(value)

    def gather_all(self, value: Any) -> list[Any]:
        """See the base."""
        return self.handle.allgather(value)

    def broadcast(self, value: Any) -> Any:
        """See the base."""
        return self.handle.bcast(value)

    def scatter(self, values: Sequence[Any] | None) -> Any:
        """See the base."""
        return self.handle.scatter(values)

    def barrier(self) -> None:
        """See the base."""
        self.handle.Barrier()

    def _combined(self, given: AnyArray, combine: np.ufunc) -> AnyArray:
        """Maxima, np.maximum, or sums, np.add, over all ranks; signals are handled meanwhile."""
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


def split(ranks: Communicator, part: int) -> Communicator:
    """Return the ranks that give the same number of a part; all ranks call this, and :func:`free` in the end."""
    assert ranks.handle is not None
    handle = cast("MPI.Intracomm", ranks.handle.Split(part, ranks.rank))
    if handle.size > 1:
        return MpiRanks(handle)
    handle.Free()
    return SingleRank()


def free(part: Communicator, whole: Communicator) -> None:
    """Free the communicator of a part of other ranks; all its ranks do, and communicate no more."""
    if part is not whole and part.handle:  # a communicator that was freed is false
        part.handle.Free()


@lru_cache(maxsize=1)
def world() -> Communicator:
    """Return all ranks that were started together; a process that no launcher started is alone, and loads no MPI.

    Raises AirshedError if the launcher belongs to another MPI than the library, as each process is then alone.
    """
    if not launched():
        return SingleRank()
    choose_library()
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise AirshedError(
            f"no MPI can be loaded ({str(error).splitlines()[0]}); `airshed doctor` tells more"
        ) from error
    ranks = MpiRanks(MPI.COMM_WORLD)
    asked = requested_ranks()
    if asked and ranks.size != asked:
        library = MPI.Get_library_version().splitlines()[0].strip("\0 ")
        raise AirshedError(
            f"{asked} ranks were started, but each sees a world of {ranks.size}: mpiexec belongs to another MPI "
            f"than the library in use ({library}); `airshed doctor` tells which are there"
        )
    if ranks.size == 1:
        return SingleRank()
    report = sys.excepthook

    def end_all(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """End all ranks after an uncaught exception: the others would wait for this one for ever."""
        report(kind, error, trace)
        sys.stderr.flush()
        ranks.handle.Abort(1)

    sys.excepthook = end_all
    return ranks
