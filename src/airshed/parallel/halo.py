"""What neighbours hold along the edges of a tile: a plan of messages, and its executor over MPI.

The transport scheme looks two cells beyond each face. Along latitude these are two rows of packs, which lie together in
memory and go as they are; along longitude the two nearest columns, taken out of their packs and put into the lanes of a
pack where the kernel expects them. No corner is needed: each face looks along its own direction alone.
"""

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.kernels.layout import AnyArray, Layout, aligned_zeros
from airshed.kernels.pieces import REACH
from airshed.parallel.communicator import MpiRanks
from airshed.parallel.decomposition import OPPOSITE, SIDES, Decomposition, Side

if TYPE_CHECKING:
    from mpi4py import MPI

ALONG_LATITUDE: Final[tuple[Side, ...]] = ("south", "north")
_TAGS: Final[dict[Side, int]] = {side: number for number, side in enumerate(SIDES)}


@dataclass(frozen=True)
class Message:
    """What one tile sends to its neighbour on one side: rows x columns of its own, rising."""

    sender: int
    receiver: int
    side: Side
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def halo_plan(decomposition: Decomposition) -> list[Message]:
    """Return all messages of one exchange; rows and columns by their numbers in the whole grid."""
    plan = []
    for tile in decomposition.tiles():
        for side in SIDES:
            other = decomposition.neighbour(tile.rank, side)
            if other is None:
                continue
            window = tile.window
            rows, columns = tuple(range(window.south, window.north)), tuple(range(window.west, window.east))
            if side in ALONG_LATITUDE:
                rows = _nearest(rows, side)
            else:
                columns = _nearest(columns, side)
            plan.append(Message(tile.rank, other, side, rows, columns))
    return plan


def _nearest(numbers: tuple[int, ...], side: Side) -> tuple[int, ...]:
    return numbers[-REACH:] if side in ("north", "east") else numbers[:REACH]


class Halo:
    """Exchanges the edges of one rank's mixing ratios with its neighbours'; satisfies ``kernels.stepper.Neighbours``.

    Messages go by persistent requests from the edges of the state itself, or from buffers where columns are gathered.
    wait   [s] spent in waiting for neighbours so far;  bytes  sent so far
    """

    def __init__(
        self, ranks: MpiRanks, decomposition: Decomposition, layout: Layout, species: int, levels: int
    ) -> None:
        self._handle, self._layout, self._middle = ranks.handle, layout, (species, levels)
        self._to = {m.side: m.receiver for m in halo_plan(decomposition) if m.sender == ranks.rank}
        self._received: dict[Side, AnyArray] = {}
        self._lanes: dict[Side, tuple[AnyArray, AnyArray]] = {}
        for side in self._to:
            self._make_buffers(side)
        self.west, self.east, self.south, self.north = (self._received.get(side) for side in SIDES)
        self._volume = sum(self._incoming(side).nbytes for side in self._to)
        self._requests: dict[int, tuple[AnyArray, list[MPI.Prequest]]] = {}
        self._started: list[MPI.Prequest] = []
        self.wait, self.bytes = 0.0, 0
        weakref.finalize(self, _free, self._requests)  # at the latest when Python ends, before MPI does

    def start(self, q: AnyArray) -> None:
        """Begin to send the edges of the mixing ratios and to receive the neighbours'."""
        from mpi4py import MPI

        for side, (outgoing, _) in self._lanes.items():
            outgoing[...] = q[:, -1, ..., -REACH:] if side == "east" else q[:, 0, ..., :REACH]
        self._started = self._requests_of(q)
        self.bytes += self._volume
        MPI.Prequest.Startall(self._started)

    def progress(self) -> None:
        """Let MPI see to messages under way."""
        from mpi4py import MPI

        MPI.Request.Testall(self._started)

    def finish(self) -> None:
        """Return when all edges are here."""
        from mpi4py import MPI

        began = MPI.Wtime()
        MPI.Request.Waitall(self._started)
        for side, (_, incoming) in self._lanes.items():
            target = self._received[side]
            if side == "east":
                target[..., :REACH] = incoming
            else:
                target[..., -REACH:] = incoming
        self.wait += MPI.Wtime() - began

    def close(self) -> None:
        """Give the requests back to MPI."""
        _free(self._requests)

    def _make_buffers(self, side: Side) -> None:
        layout, middle = self._layout, self._middle
        if side in ALONG_LATITUDE:
            self._received[side] = aligned_zeros((REACH, layout.blocks, *middle, layout.width), layout.dtype)
            return
        self._received[side] = aligned_zeros((layout.rows, *middle, layout.width), layout.dtype)
        shape = (layout.rows, *middle, REACH)
        self._lanes[side] = np.empty(shape, layout.dtype), np.empty(shape, layout.dtype)

    def _requests_of(self, q: AnyArray) -> "list[MPI.Prequest]":
        """The requests for one of the two arrays that take turns as the state; made once for each."""
        kept = self._requests.get(id(q))
        if kept is None:
            requests = [self._receive(side, rank) for side, rank in self._to.items()]
            requests += [self._send(q, side, rank) for side, rank in self._to.items()]
            kept = self._requests[id(q)] = (q, requests)  # with the array, so that no other one gets its number
        return kept[1]

    def _receive(self, side: Side, rank: int) -> "MPI.Prequest":
        return self._handle.Recv_init(self._incoming(side), rank, _TAGS[OPPOSITE[side]])

    def _send(self, q: AnyArray, side: Side, rank: int) -> "MPI.Prequest":
        rows = q[:REACH] if side == "south" else q[-REACH:]
        return self._handle.Send_init(self._lanes[side][0] if side in self._lanes else rows, rank, _TAGS[side])

    def _incoming(self, side: Side) -> AnyArray:
        return self._lanes[side][1] if side in self._lanes else self._received[side]


def _free(plans: "dict[int, tuple[AnyArray, list[MPI.Prequest]]]") -> None:
    """Give requests back to MPI, which complains of those that it finds at its end."""
    for _, requests in plans.values():
        for request in requests:
            request.Free()
    plans.clear()
