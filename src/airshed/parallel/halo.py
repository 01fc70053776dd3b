"""What neighbours hold along the edges of a tile: who needs what of whom, and how a rank comes to see it.

The transport scheme looks two cells beyond each face. Along latitude these are two rows of packs, which lie together in
memory; along longitude the two nearest columns, which lie in two lanes of a pack. No corner is needed: each face looks
along its own direction alone.

Neighbours on one machine read them where they lie, in memory that they share; others get messages by MPI.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from airshed.core.errors import AirshedError
from airshed.kernels.layout import AnyArray, Layout
from airshed.kernels.pieces import REACH, SIDES, Side
from airshed.kernels.step_data import Near, Room
from airshed.parallel.communicator import MpiRanks
from airshed.parallel.decomposition import ALONG_LATITUDE, Decomposition
from airshed.parallel.edge_messages import EdgeMessages
from airshed.parallel.machine_memory import MachineMemory

if TYPE_CHECKING:
    from mpi4py import MPI

_TAG: Final = 16  # beside those of messages by side


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
    """What lies beyond the open sides of one rank's tile; satisfies ``kernels.step_data.Neighbours``.

    memory  that ranks of this machine share, in which the state lies; None for messages to all neighbours
    shared  the number of neighbours whose state this rank reads where it lies
    bytes   received by messages so far
    """

    def __init__(
        self, ranks: MpiRanks, decomposition: Decomposition, layout: Layout, species: int, levels: int,
        memory: MachineMemory | None = None,
    ) -> None:  # fmt: skip
        plan = halo_plan(decomposition)
        self._handle, self._memory, self.number = ranks.handle, memory, ranks.rank
        to = {message.side: message.receiver for message in plan if message.sender == ranks.rank}
        team = () if memory is None else memory.team
        self._near = {side: rank for side, rank in to.items() if rank in team}
        far = {side: rank for side, rank in to.items() if rank not in team}
        self.sides, self.shared = tuple(to), len(self._near)
        self.blocks = max(tile.blocks[1] - tile.blocks[0] for tile in decomposition.tiles())
        self._messages = EdgeMessages(ranks.handle, layout, (species, levels), far) if far else None
        self.beyond: Mapping[Side, AnyArray] = {} if self._messages is None else self._messages.received
        self._volume = sum(edge.nbytes if side in ALONG_LATITUDE else edge.nbytes // layout.width * REACH
                           for side, edge in self.beyond.items())  # fmt: skip
        self.bytes = 0

    @property
    def room(self) -> Room | None:
        """Where the slot of this rank is to lie, that its neighbours on this machine look at."""
        if self._memory is None or not self._near:
            return None
        return Room(self._memory.begin(self.number), self._memory.reach)

    def meet(self, here: Near) -> dict[Side, Near]:
        """Tell neighbours on this machine where slot and state lie in this process, and return where theirs do.

        raises  AirshedError where the state found no room in the memory that they share
        """
        if self._near and not all(self._is_shared(state) for state in here.states):
            raise AirshedError(
                "the state finds no room in the memory that the ranks of this machine share; "
                'set parallel.halo = "messages"'
            )
        told = _exchanged(self._handle, self._near, here)
        return {side: self._seen(rank, told[side]) for side, rank in self._near.items()}

    def start(self, q: AnyArray) -> None:
        """Begin to exchange messages of the edges of the mixing ratios."""
        assert self._messages is not None
        self.bytes += self._volume
        self._messages.start(q)

    def arrived(self) -> bool:
        """See to messages under way, and return whether all are here, and can be looked at."""
        assert self._messages is not None
        return self._messages.arrived()

    def progress(self) -> None:
        """Let MPI see to the messages of others, which those who are late may wait for."""
        self._handle.Iprobe()

    def close(self) -> None:
        """Give the requests of messages back to MPI."""
        if self._messages is not None:
            self._messages.close()

    def _is_shared(self, address: int) -> bool:
        assert self._memory is not None
        first, size = self._memory.reach
        return first <= address < first + size

    def _seen(self, rank: int, there: Near) -> Near:
        """What a neighbour told, by addresses of this process."""
        assert self._memory is not None
        shift = self._memory.shift(rank)
        states = there.states[0] + shift, there.states[1] + shift
        return replace(there, slot=there.slot + shift, states=states, shift=shift)


def _exchanged(handle: "MPI.Intracomm", neighbours: Mapping[Side, int], value: Any) -> dict[Side, Any]:
    """Tell all neighbours something, and return what they told."""
    sent = [handle.isend(value, rank, _TAG) for rank in neighbours.values()]
    told = {side: handle.recv(source=rank, tag=_TAG) for side, rank in neighbours.items()}
    for each in sent:
        each.wait()
    return told
