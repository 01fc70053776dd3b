"""Sums and greatest values over the ranks of one machine without messages, on boards that all of them see.

Each rank writes its own numbers on its board and goes on; whoever wants the result reads all boards, once all are
written. Nobody has to look after what is under way, as MPI asks for with messages of some kB.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from airshed.kernels.words import show, shown
from airshed.parallel.machine_memory import MachineMemory

if TYPE_CHECKING:
    from mpi4py import MPI

AnyArray = npt.NDArray[Any]
PLACES: Final = 8
"""Notices on a board at once, which not all have read yet."""

_MOST: Final = 2**18

_WRITTEN, _READ, _CONTENT = 0, 64, 128  # where they lie in a place: two words on cache lines of their own, and numbers
_PLACE: Final = _CONTENT + _MOST

BOARD: Final = PLACES * _PLACE
"""Bytes of a board."""


class Boards:
    """The boards of all ranks of a communicator; notice n lies at place n % PLACES of each, n = 1, 2, ...

    memory  whose team are all these ranks, and whose heads hold a board each
    own     the number of this rank
    until   returns once what it is given returns true
    most    bytes of a notice at most; pages are touched as far as notices reach
    """

    most = _MOST

    def __init__(self, memory: MachineMemory, own: int, until: Callable[[Callable[[], bool]], None]) -> None:
        self._heads, self._first, self._apart = memory.heads(), memory.begin(memory.team[0]), memory.size
        self._own, self._until = own, until
        self._begun = 0
        self._unread: dict[int, Notice] = {}

    def begin(self, values: AnyArray, combine: np.ufunc) -> "Notice":
        """Write values, of `most` bytes at most; all ranks begin in the same order, with the same shape and type."""
        number = self._begun = self._begun + 1
        before = self._unread.get(number - PLACES)
        if before is not None:  # somebody will ask for it late: it is read now, as its place is needed
            self._until(before.arrived)
            before.result()
        self._until(lambda: self._have_come(_READ, number, number - PLACES))
        self._content(number, values)[self._own] = values
        self._tell(_WRITTEN, number)
        notice = self._unread[number] = Notice(self, number, values, combine)
        return notice

    def written(self, number: int) -> bool:
        """Return whether all ranks have written a notice."""
        return self._have_come(_WRITTEN, number, number)

    def read(self, number: int, like: AnyArray, combine: np.ufunc) -> AnyArray:
        """Return what the numbers of all ranks give, and let the place be written anew."""
        first, *others = self._content(number, like)
        result: AnyArray = first.copy()
        for other in others:
            combine(result, other, out=result)
        self._tell(_READ, number)
        del self._unread[number]
        return result

    def _content(self, number: int, like: AnyArray) -> AnyArray:
        """The numbers of a notice, (rank, ...)."""
        begin = number % PLACES * _PLACE + _CONTENT
        return self._heads[:, begin : begin + like.nbytes].view(like.dtype).reshape(len(self._heads), *like.shape)

    def _have_come(self, word: int, place: int, number: int) -> bool:
        """Whether a word at a notice's place has come to a number on all boards."""
        return shown(self._first + place % PLACES * _PLACE + word, len(self._heads), self._apart, number)

    def _tell(self, word: int, number: int) -> None:
        show(self._first + self._own * self._apart + number % PLACES * _PLACE + word, number)


class Notice:
    """What all ranks write and read, under way; see :class:`Boards`."""

    def __init__(self, boards: Boards, number: int, values: AnyArray, combine: np.ufunc) -> None:
        self._boards, self._number, self._values, self._combine = boards, number, values, combine
        self._result: AnyArray | None = None

    def arrived(self) -> bool:
        """Return whether all ranks have written it."""
        return self._result is not None or self._boards.written(self._number)

    def result(self) -> AnyArray:
        """Return what it gives, which has arrived."""
        if self._result is None:
            self._result = self._boards.read(self._number, self._values, self._combine)
        return self._result


def make_boards(handle: "MPI.Intracomm", until: Callable[[Callable[[], bool]], None]) -> Boards | None:
    """Return boards for the ranks of a communicator, all of them together; None where they are on several machines."""
    memory = MachineMemory(handle, BOARD, BOARD)
    everybody = len(memory.team) == handle.Get_size() and memory.size >= BOARD  # less where the system has no more
    return Boards(memory, handle.Get_rank(), until) if handle.allreduce(everybody) == handle.Get_size() else None
