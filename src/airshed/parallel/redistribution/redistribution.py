"""Repeated redistribution of an array by a plan, without allocation: hops by messages.

A hop packs, sends, receives in the order of arrival and unpacks; its buffers are reused.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.core.errors import NumericalError
from airshed.parallel.communicator import Communicator, all_of, any_of, barrier
from airshed.parallel.redistribution.distribution import Distribution
from airshed.parallel.redistribution.plan import Hop, Message, Plan

if TYPE_CHECKING:
    from mpi4py import MPI


Bytes = npt.NDArray[np.uint8]


class Transport:
    """Transport of arrays between ranks: messages by `exchange`, or a different method by `hop`."""

    name: str
    rank: int
    size: int
    one_sided = False
    """Whether a rank writes into another rank's memory directly."""

    def hop(self, hop: Hop) -> Any:
        """Return this rank's part of a hop, such as `MessageHop`; all ranks make the same hops in the same order."""
        return MessageHop(self, hop)

    def exchange(self, receives: Sequence[tuple[int, Bytes]], sends: Iterable[tuple[int, Bytes]]) -> Iterator[int]:
        """Receive into buffers while sending others; yield the indices of the receives as they arrive.

        At the end of the iteration all receives are complete and all sent buffers may be overwritten.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Free its resources; collective."""


class MessageBuffer:
    """Elements of a message in a rank's array, and in a buffer: consecutive boxes in the sender's order.

    A message that is contiguous in the array is sent or received there directly.
    """

    def __init__(self, message: Message, hop: Hop, held: Distribution, rank: int) -> None:
        self._held, self._wire, self._order = held, hop.wire, hop.source.order
        self._boxes = held.boxes(rank, message.part)
        self._in_one_piece = is_contiguous(message, hop, held, rank)
        self._size = message.elements
        self._buffer: AnyArray | None = None

    def pack(self, local: AnyArray) -> Bytes:
        """Return the message's bytes."""
        in_place = self._in_place(local)
        if in_place is not None:
            return in_place
        for piece, view in self._pairs(local):
            converted_copy(piece, view)
        return self._bytes

    def receive_buffer(self, local: AnyArray | None) -> Bytes:
        """Return the memory into which the message's bytes are received."""
        in_place = None if local is None else self._in_place(local)
        return self._bytes if in_place is None else in_place

    def unpack(self, local: AnyArray) -> None:
        """Copy received bytes to their place in the array."""
        if self._in_place(local) is None:
            for piece, view in self._pairs(local):
                converted_copy(view, piece)

    def views(self, local: AnyArray) -> list[AnyArray]:
        """Return the boxes in a rank's array, axes in the sender's order."""
        whole = self._held.in_global_order(local)
        return [whole[box].transpose(self._order) for box in self._boxes]

    def _in_place(self, local: AnyArray) -> Bytes | None:
        if not self._in_one_piece or not local.flags.c_contiguous:
            return None
        return self.views(local)[0].reshape(-1).view(np.uint8)

    @property
    def _bytes(self) -> Bytes:
        """The buffer, allocated at its first use."""
        if self._buffer is None:
            self._buffer = np.empty(self._size, self._wire)
        return self._buffer.view(np.uint8)

    def _pairs(self, local: AnyArray) -> Iterator[tuple[AnyArray, AnyArray]]:
        buffer, start = self._bytes.view(self._wire), 0
        for view in self.views(local):
            yield buffer[start : start + view.size].reshape(view.shape), view
            start += view.size


def is_contiguous(message: Message, hop: Hop, held: Distribution, rank: int) -> bool:
    """Return whether a message's elements are contiguous in a rank's array, in message order."""
    boxes = held.boxes(rank, message.part)
    if len(boxes) > 1 or held.numbers != hop.wire:
        return False
    box = held.in_global_order(held.empty(rank))[boxes[0]].transpose(hop.source.order)
    return bool(box.flags.c_contiguous)


class MessageHop:
    """The part of a hop on one rank; a call with the rank's array returns its array after the hop."""

    def __init__(self, messenger: Transport, hop: Hop) -> None:
        rank = messenger.rank
        self._messenger = messenger
        self._sends = [(each.receiver, MessageBuffer(each, hop, hop.source, rank)) for each in hop.sends(rank)]
        self._receives = [(each.sender, MessageBuffer(each, hop, hop.target, rank)) for each in hop.receives(rank)]
        self._copies = [
            (MessageBuffer(each, hop, hop.source, rank), MessageBuffer(each, hop, hop.target, rank))
            for each in hop.copies(rank)
        ]
        self.target = hop.target.empty(rank) if rank in hop.target.ranks else None

    def __call__(self, source: AnyArray | None, target: AnyArray | None = None) -> AnyArray | None:
        """Move the array into `target` if given, else into the hop's own array."""
        target = self.target if target is None else target
        incoming = [(sender, packing.receive_buffer(target)) for sender, packing in self._receives]
        for number in self._messenger.exchange(incoming, self._outgoing(source, target)):
            assert target is not None
            self._receives[number][1].unpack(target)
        return target

    def _outgoing(self, source: AnyArray | None, target: AnyArray | None) -> Iterator[tuple[int, Bytes]]:
        """Pack each message when it is sent; then copy local elements while the messages travel."""
        if source is None:
            return
        for receiver, packing in self._sends:
            yield receiver, packing.pack(source)
        if target is not None:
            for here, there in self._copies:
                for before, after in zip(here.views(source), there.views(target), strict=True):
                    converted_copy(after, before)

    def close(self) -> None:
        """Do nothing; there are no resources."""


def converted_copy(target: AnyArray, source: AnyArray) -> None:
    """Copy numbers into another format.

    Raises NumericalError if a number is too large for it.
    """
    try:
        with np.errstate(over="raise"):
            np.copyto(target, source, casting="same_kind")
    except FloatingPointError:
        raise NumericalError(
            f"a number of an array in {source.dtype} is too large for the {target.dtype} that it is to be moved into"
        ) from None


class MpiMessages(Transport):
    """Ranks of an MPI communicator; both groups of a redistribution belong to it."""

    name = "MPI"

    def __init__(self, handle: "MPI.Intracomm") -> None:
        barrier(handle)  # ranks sleep in it; in Dup they poll
        self.handle = handle.Dup()  # separates these messages from those of other users
        self.rank, self.size = handle.Get_rank(), handle.Get_size()

    def exchange(self, receives: Sequence[tuple[int, Bytes]], sends: Iterable[tuple[int, Bytes]]) -> Iterator[int]:
        """Receive into buffers while sending others; yield the indices of the receives as they arrive."""
        arriving = [self.handle.Irecv(buffer, sender) for sender, buffer in receives]
        leaving = [self.handle.Isend(buffer, receiver) for receiver, buffer in sends]
        for _ in arriving:
            yield any_of(arriving)
        all_of(leaving)

    def close(self) -> None:
        """Free the communicator; collective."""
        self.handle.Free()


class SingleRankMessages(Transport):
    """Transport of a single rank, without messages."""

    name, rank, size = "alone", 0, 1

    def exchange(self, receives: Sequence[tuple[int, Bytes]], sends: Iterable[tuple[int, Bytes]]) -> Iterator[int]:
        """Run the copies; there are no messages."""
        for _ in sends:
            raise AssertionError("one rank alone sends nothing")
        yield from ()


class Redistribution:
    """Plan bound to a transport: a call with this rank's part of the source returns its part of the target.

    ranks    a transport, or a communicator whose messages carry the array
    seconds  duration of the last call on this rank [s]
    raises   RedistributionError if the array does not fit the plan's source; NumericalError if a number is too large
             for the target's format

    Construction and calls are collective; a rank without a part passes None. The returned array is the same each time,
    overwritten by the next call, unless `out` is given. Calls do not allocate memory.
    """

    def __init__(self, ranks: Communicator | Transport, plan: Plan) -> None:
        self.plan = plan
        self._made = not isinstance(ranks, Transport)
        self.transport: Transport = ranks if isinstance(ranks, Transport) else messages_of(ranks)
        self.seconds = 0.0
        self._hops = [self.transport.hop(hop) for hop in plan.hops]

    @property
    def rank(self) -> int:
        """Number of this rank in the plan's distributions."""
        return self.transport.rank

    def __call__(self, source: AnyArray | None, out: AnyArray | None = None) -> AnyArray | None:
        """Return this rank's part of the target; None if it holds none."""
        self.plan.source.check(self.rank, source)
        if out is not None:
            self.plan.target.check(self.rank, out)
        began = time.perf_counter()
        for hop in self._hops[:-1]:
            source = hop(source)
        target: AnyArray | None = self._hops[-1](source, out)
        self.seconds = time.perf_counter() - began
        return target

    def close(self) -> None:
        """Free its resources; collective."""
        for hop in self._hops:
            hop.close()
        if self._made and isinstance(self.transport, MpiMessages):
            self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close, except after an error, which may concern this rank alone: closing is collective."""
        if kind is None:
            self.close()


def messages_of(ranks: Communicator) -> MpiMessages | SingleRankMessages:
    """Return the messages of a communicator."""
    return SingleRankMessages() if ranks.handle is None else MpiMessages(ranks.handle)
