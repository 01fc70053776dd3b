"""Edges of the state that neighbours on one machine exchange in memory that they share, see ``parallel.halo``."""

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
"""Beside those of edges that go as messages."""


class SharedEdges:
    """One rank's end of the exchange with its neighbours on this machine; satisfies ``parallel.halo.Edges``.

    Each rank copies its edges to its part of the memory, where the neighbour's kernel reads them, and tells it by a
    message without content. Two places take turns: a rank that begins an exchange has had the neighbour's edges of
    the one before, so that the neighbour has done with those of the exchange before that.

    sides  where neighbours are on this machine
    """

    bytes = 0

    def __init__(
        self, handle: "MPI.Intracomm", layout: Layout, middle: tuple[int, int], neighbours: Mapping[Side, int]
    ) -> None:
        """Prepare it, all ranks of the communicator together, with or without neighbours."""
        size = np.dtype(layout.dtype).itemsize * layout.width * prod(middle)
        edge = -(-max(REACH * layout.blocks, layout.rows) * size // ALIGNMENT) * ALIGNMENT
        self._place = max(handle.allgather(edge))
        memory = SharedMemory(handle, 2 * len(SIDES) * self._place)
        near = {side: rank for side, rank in neighbours.items() if rank in memory.ranks}
        self.sides = tuple(near)
        own = handle.Get_rank()
        shapes = {side: (REACH, layout.blocks) if side in ALONG_LATITUDE else (layout.rows,) for side in near}

        def edges(rank: int, side: Side, of: Side) -> tuple[AnyArray, AnyArray]:
            """What a rank tells the neighbour on its side `of`: the two places."""
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
        """Show the neighbours the edges of the mixing ratios; return where theirs will lie."""
        from mpi4py import MPI

        self._turn = 1 - self._turn
        for side, places in self._outgoing.items():
            places[self._turn][...] = _edge(q, side)
        MPI.Prequest.Startall(self._requests)
        return {side: places[self._turn] for side, places in self._incoming.items()}

    def arrived(self) -> bool:
        """Return whether all neighbours have shown theirs."""
        from mpi4py import MPI

        return bool(MPI.Request.Testall(self._requests))

    def close(self) -> None:
        """Give the requests back to MPI."""
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
