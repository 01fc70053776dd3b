"""Messages by MPI among the ranks of one communicator: nonblocking, unpacked in the order of arrival."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from airshed.parallel.redistribution.messages import Bytes, MessageHop
from airshed.parallel.redistribution.plan import Hop
from airshed.parallel.waiting import all_of, any_of, barrier

if TYPE_CHECKING:
    from mpi4py import MPI


class MpiMessages:
    """The ranks of an MPI communicator; both groups of a redistribution belong to it."""

    name, one_sided = "MPI", False

    def __init__(self, handle: "MPI.Intracomm") -> None:
        barrier(handle)  # ranks sleep in it; in Dup they poll
        self.handle = handle.Dup()  # keeps messages of other users apart
        self.rank, self.size = handle.Get_rank(), handle.Get_size()

    def hop(self, hop: Hop) -> MessageHop:
        """Return this rank's part of a hop."""
        return MessageHop(self, hop)

    def exchange(self, receives: Sequence[tuple[int, Bytes]], sends: Iterable[tuple[int, Bytes]]) -> Iterator[int]:
        """Receive into buffers while sending others; yield the numbers of the receives as they arrive."""
        arriving = [self.handle.Irecv(buffer, sender) for sender, buffer in receives]
        leaving = [self.handle.Isend(buffer, receiver) for receiver, buffer in sends]
        for _ in arriving:
            yield any_of(arriving)
        all_of(leaving)

    def close(self) -> None:
        """Free the communicator; all ranks call this."""
        self.handle.Free()


class OwnMessages:
    """One rank alone, which sends nothing."""

    name, one_sided, rank, size = "alone", False, 0, 1

    def hop(self, hop: Hop) -> MessageHop:
        """Return the rank's part of a hop: copies."""
        return MessageHop(self, hop)

    def exchange(self, receives: Sequence[tuple[int, Bytes]], sends: Iterable[tuple[int, Bytes]]) -> Iterator[int]:
        """Let the copies be done."""
        for _ in sends:
            raise AssertionError("one rank alone sends nothing")
        yield from ()

    def close(self) -> None:
        """Nothing to free."""
