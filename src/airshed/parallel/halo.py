"""What neighbours hold along the edges of a tile: a plan of messages, and its executors.

The transport scheme looks two cells beyond each face. Along latitude these are two rows of packs, which lie together in
memory and go as they are; along longitude the two nearest columns, taken out of their packs and put into the lanes of a
pack where the kernel expects them. No corner is needed: each face looks along its own direction alone.

Neighbours on one machine look into memory that they share; others get messages by MPI.
"""

import time
from dataclasses import dataclass

from airshed.kernels.flags import CompiledFlags
from airshed.kernels.layout import AnyArray, Layout
from airshed.kernels.pieces import REACH, SIDES, Side
from airshed.parallel.communicator import MpiRanks
from airshed.parallel.decomposition import ALONG_LATITUDE, Decomposition
from airshed.parallel.edge_messages import EdgeMessages
from airshed.parallel.shared_edges import TURNS, SharedEdges


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
    """Exchanges the edges of one rank's mixing ratios with its neighbours'; satisfies ``kernels.step_data.Neighbours``.

    flags   by which ranks of one machine tell each other how far they are; None for messages to all
    beyond  the edges by side, one array for each turn of the exchanges;  turn  whose arrays hold the newest
    wait    [s] spent in waiting for neighbours so far;  bytes  received so far
    """

    def __init__(
        self, ranks: MpiRanks, decomposition: Decomposition, layout: Layout, species: int, levels: int,
        flags: CompiledFlags | None = None,
    ) -> None:  # fmt: skip
        to = {message.side: message.receiver for message in halo_plan(decomposition) if message.sender == ranks.rank}
        middle, self._shared = (species, levels), None
        if flags is not None:
            self._shared = SharedEdges(ranks.handle, decomposition, middle, layout.dtype, flags, to)
        near = {} if self._shared is None else self._shared.beyond
        far = {side: rank for side, rank in to.items() if side not in near}
        self._messages = EdgeMessages(ranks.handle, layout, middle, far) if far else None
        received = {} if self._messages is None else self._messages.received
        self.beyond = {**near, **{side: (edge,) for side, edge in received.items()}}
        self._volume = sum(edges[0].nbytes if side in ALONG_LATITUDE else edges[0].nbytes // layout.width * REACH
                           for side, edges in self.beyond.items())  # fmt: skip
        self._number, self.wait, self.bytes = 0, 0.0, 0

    @property
    def turn(self) -> int:
        """Which of the arrays of each side belong to the last exchange."""
        return self._number % TURNS

    @property
    def shared(self) -> int:
        """The number of neighbours whose memory this rank looks into."""
        return 0 if self._shared is None else len(self._shared.beyond)

    def start(self, q: AnyArray) -> None:
        """Begin to exchange the edges of the mixing ratios."""
        self._number += 1
        self.bytes += self._volume
        if self._shared is not None:
            self._shared.start(q, self._number)
        if self._messages is not None:
            self._messages.start(q)

    def progress(self) -> None:
        """Let MPI see to messages under way."""
        if self._messages is not None:
            self._messages.progress()
        elif self._shared is not None:
            self._shared.progress()

    def finish(self) -> None:
        """Return when all edges are here."""
        began = time.perf_counter()
        if self._shared is not None:
            self._shared.finish(self._number)
        if self._messages is not None:
            self._messages.finish()
        self.wait += time.perf_counter() - began

    def close(self) -> None:
        """Give the requests of messages back to MPI."""
        if self._messages is not None:
            self._messages.close()
