"""Exchange of edges of the state with neighbours on the same machine, in shared memory, see ``parallel.halo``."""

import weakref
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.kernels.layout import Layout
from airshed.kernels.memory import ALIGNMENT, AnyArray
from airshed.kernels.step.data import REACH, SIDES, Side
from airshed.parallel.decomposition import ALONG_LATITUDE, OPPOSITE
from airshed.parallel.same_machine.memory import SharedMemory

if TYPE_CHECKING:
    from mpi4py import MPI

_TAGS: Final[dict[Side, int]] = {side: 16 + number for number, side in enumerate(SIDES)}
"""The tag; edges that are sent as messages use others."""


class SharedEdges:
    """The exchange of one rank with its neighbours on this machine; satisfies ``parallel.halo.Edges``.

    Each rank copies its edges to its part of the memory, where the neighbour's kernel reads them, and signals that by
    an empty message. Two buffers alternate: a rank that begins an exchange has received the neighbour's edges of the
    last one, so the neighbour no longer reads those of the exchange before.

    sides  where neighbours are on this machine
    """

    bytes = 0

    def __init__(
        self, handle: "MPI.Intracomm", layout: Layout, middle: tuple[int, int], neighbours: Mapping[Side, int]
    ) -> None:
        """Prepare the exchange; all ranks of the communicator call this, with or without neighbours."""
        size = np.dtype(layout.dtype).itemsize * layout.width * prod(middle)
        edge = -(-max(REACH * layout.blocks, layout.rows) * size // ALIGNMENT) * ALIGNMENT
        self._place = max(handle.allgather(edge))
        memory = SharedMemory(handle, 2 * len(SIDES) * self._place)
        near = {side: rank for side, rank in neighbours.items() if rank in memory.ranks}
        self.sides = tuple(near)
        own = handle.Get_rank()
        shapes = {side: (REACH, layout.blocks) if side in ALONG_LATITUDE else (layout.rows,) for side in near}

        def edges(rank: int, side: Side, of: Side) -> tuple[AnyArray, AnyArray]:
            """Return the places of the two buffers for the neighbour on the side `of`."""
            shape = (*shapes[side], *middle, layout.width)
            places = memory.of(rank).reshape(2, len(SIDES), self._place)[:, SIDES.index(of)]
            first, second = (place[: prod(shape) * np.dtype(layout.dtype).itemsize] for place in places)
            return first.view(layout.dtype).reshape(shape), second.view(layout.dtype).reshape(shape)

        self._outgoing = {side: edges(own, side, side) for side in near}
        self._incoming = {side: edges(rank, side, OPPOSITE[side]) for side, rank in near.items()}
        self._turn = 0
        self._requests = [
            each
            for side, rank in near.items()
            for each in (
                handle.Recv_init(bytearray(0), rank, _TAGS[OPPOSITE[side]]),
                handle.Send_init(bytearray(0), rank, _TAGS[side]),
            )
        ]
        weakref.finalize(self, _free, self._requests)  # at the latest when Python ends, before MPI does

    def start(self, q: AnyArray) -> Mapping[Side, AnyArray]:
        """Copy the edges of the mixing ratios for the neighbours; return the arrays with theirs."""
        from mpi4py import MPI

        self._turn = 1 - self._turn
        for side, places in self._outgoing.items():
            places[self._turn][...] = _edge(q, side)
        MPI.Prequest.Startall(self._requests)
        return {side: places[self._turn] for side, places in self._incoming.items()}

    def arrived(self) -> bool:
        """Return whether the edges of all neighbours have arrived."""
        from mpi4py import MPI

        return bool(MPI.Request.Testall(self._requests))

    def close(self) -> None:
        """Free the requests."""
        _free(self._requests)


def _edge(q: AnyArray, side: Side) -> AnyArray:
    """The rows along a side, or the packs."""
    if side in ALONG_LATITUDE:
        return q[:REACH] if side == "south" else q[-REACH:]
    return q[:, 0] if side == "west" else q[:, -1]


def _free(requests: "list[MPI.Prequest]") -> None:
    for request in requests:
        request.Free()
    requests.clear()
