"""The halo of a tile, two cells wide: which edges neighbours exchange, and the exchange itself.

Along latitude the halo is two rows of packs, which are contiguous in memory; along longitude two columns, which are two
lanes of a pack. Corners are not needed, as the stencil of a face lies along its own direction.

Neighbours on one machine read the edges in shared memory; others get messages by MPI.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from airshed.kernels.layout import Layout
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import REACH, SIDES, Side
from airshed.parallel.communicator import MpiRanks
from airshed.parallel.decomposition import ALONG_LATITUDE, Decomposition
from airshed.parallel.edge_messages import EdgeMessages

if TYPE_CHECKING:
    pass

_TAG: Final = 16  # beside those of messages by side


if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Message:
    """The message of a tile to its neighbour on one side: its own rows x columns, rising."""

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


class Edges(Protocol):
    """The exchange of edges of one rank with some of its neighbours, by messages or in shared memory.

    sides  of those neighbours;  bytes  that messages bring in an exchange
    """

    @property
    def sides(self) -> tuple[Side, ...]:
        """See above."""
        ...

    @property
    def bytes(self) -> int:
        """See above."""
        ...

    def start(self, q: AnyArray) -> Mapping[Side, AnyArray]:
        """See ``kernels.step.data.Neighbours``."""
        ...

    def arrived(self) -> bool:
        """See ``kernels.step.data.Neighbours``."""
        ...

    def close(self) -> None:
        """Release the resources of the exchange."""
        ...


class Halo:
    """The halo beyond the open sides of one rank's tile; satisfies ``kernels.step.data.Neighbours``.

    shared_memory  whether neighbours on one machine exchange edges in shared memory; else all send messages
    shared         the number of neighbours that do
    bytes          received by messages so far
    """

    def __init__(
        self, ranks: MpiRanks, decomposition: Decomposition, layout: Layout, species: int, levels: int, *,
        shared_memory: bool,
    ) -> None:  # fmt: skip
        plan = halo_plan(decomposition)
        to = {message.side: message.receiver for message in plan if message.sender == ranks.rank}
        self.sides, self.shared, self.bytes = tuple(to), 0, 0
        self._exchanges: list[Edges] = []
        middle = species, levels
        near = _shared_edges(ranks.handle, layout, middle, to) if shared_memory else None
        if near is not None:
            self.shared = len(near.sides)
            self._exchanges.append(near)
        far = {side: rank for side, rank in to.items() if near is None or side not in near.sides}
        self._exchanges.append(EdgeMessages(ranks.handle, layout, middle, far))
        self._exchanges = [each for each in self._exchanges if each.sides]
        self._pending: list[Edges] = []

    def start(self, q: AnyArray) -> Mapping[Side, AnyArray]:
        """Begin to exchange the edges of the mixing ratios."""
        edges: dict[Side, AnyArray] = {}
        for each in self._exchanges:
            edges |= each.start(q)
            self.bytes += each.bytes
        self._pending = list(self._exchanges)
        return edges

    def arrived(self) -> bool:
        """Let the exchange progress; return whether all edges have arrived."""
        self._pending = [each for each in self._pending if not each.arrived()]
        return not self._pending

    def close(self) -> None:
        """Release the resources of the exchange."""
        for each in self._exchanges:
            each.close()


def _shared_edges(
    handle: "MPI.Intracomm", layout: Layout, middle: tuple[int, int], to: Mapping[Side, int]
) -> Edges | None:
    """The exchange with neighbours on this machine; None if the package ``same_machine`` is missing."""
    try:
        from airshed.parallel.same_machine import SharedEdges
    except ImportError:
        return None
    return SharedEdges(handle, layout, middle, to)
