"""A hop by messages: pack, send, receive in the order of arrival, unpack; its buffers are kept."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.errors import NumericalError
from airshed.parallel.redistribution.distribution import Distribution
from airshed.parallel.redistribution.plan import Hop, Message

AnyArray = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]


class Messenger(Protocol):
    """What carries bytes between ranks."""

    rank: int

    def exchange(self, receives: Sequence[tuple[int, Bytes]], sends: Iterable[tuple[int, Bytes]]) -> Iterator[int]:
        """Receive into buffers while sending others; yield the numbers of the receives as they arrive.

        When the iteration ends, all receives have been filled and all that was sent may be overwritten.
        """
        ...


class Packing:
    """The elements of a message in a rank's array, and in a buffer: boxes one behind the other, in the sender's order.

    A message that lies in one piece in the array is sent from there.
    """

    def __init__(self, message: Message, hop: Hop, held: Distribution, rank: int) -> None:
        self.held, self.wire, self._boxes = held, hop.wire, held.boxes(rank, message.part)
        self._order = hop.source.order
        self._size = message.elements
        self._buffer: AnyArray | None = None

    @property
    def buffer(self) -> AnyArray:
        """The buffer, made at its first use."""
        if self._buffer is None:
            self._buffer = np.empty(self._size, self.wire)
        return self._buffer

    def pack(self, local: AnyArray) -> Bytes:
        """Return the message's bytes."""
        views = self.views(local)
        if len(views) == 1 and views[0].flags.c_contiguous and views[0].dtype == self.wire:
            return views[0].reshape(-1).view(np.uint8)
        for piece, view in self._pairs(views):
            converted_copy(piece, view)
        return self.buffer.view(np.uint8)

    def unpack(self, local: AnyArray) -> None:
        """Put what the buffer holds where it belongs."""
        for piece, view in self._pairs(self.views(local)):
            converted_copy(view, piece)

    def views(self, local: AnyArray) -> list[AnyArray]:
        """Return the boxes in a rank's array, axes in the sender's order."""
        whole = self.held.seen_whole(local)
        return [whole[box].transpose(self._order) for box in self._boxes]

    def _pairs(self, views: list[AnyArray]) -> Iterator[tuple[AnyArray, AnyArray]]:
        start = 0
        for view in views:
            yield self.buffer[start : start + view.size].reshape(view.shape), view
            start += view.size


class MessageHop:
    """One rank's part of a hop; calling it with the rank's array returns the rank's array after the hop."""

    def __init__(self, messenger: Messenger, hop: Hop) -> None:
        rank = messenger.rank
        self._messenger = messenger
        self._sends = [(each.receiver, Packing(each, hop, hop.source, rank)) for each in hop.sends(rank)]
        self._receives = [(each.sender, Packing(each, hop, hop.target, rank)) for each in hop.receives(rank)]
        self._copies = [
            (Packing(each, hop, hop.source, rank), Packing(each, hop, hop.target, rank)) for each in hop.copies(rank)
        ]
        self._incoming = [(sender, packing.buffer.view(np.uint8)) for sender, packing in self._receives]
        self.target = hop.target.empty(rank) if rank in hop.target.ranks else None

    def __call__(self, source: AnyArray | None, target: AnyArray | None = None) -> AnyArray | None:
        """Move the array; into `target` where one is given, or into the hop's own."""
        target = self.target if target is None else target
        for number in self._messenger.exchange(self._incoming, self._outgoing(source, target)):
            assert target is not None
            self._receives[number][1].unpack(target)
        return target

    def _outgoing(self, source: AnyArray | None, target: AnyArray | None) -> Iterator[tuple[int, Bytes]]:
        """Pack each message when its turn comes; then copy what stays, while the messages travel."""
        if source is None:
            return
        for receiver, packing in self._sends:
            yield receiver, packing.pack(source)
        if target is not None:
            for here, there in self._copies:
                for before, after in zip(here.views(source), there.views(target), strict=True):
                    converted_copy(after, before)

    def close(self) -> None:
        """Nothing to give back."""


def converted_copy(target: AnyArray, source: AnyArray) -> None:
    """Copy numbers into another format.

    Raises NumericalError where one is too large for it.
    """
    try:
        with np.errstate(over="raise"):
            np.copyto(target, source, casting="same_kind")
    except FloatingPointError:
        raise NumericalError(
            f"a number of an array in {source.dtype} is too large for the {target.dtype} that it is to be moved into"
        ) from None
