"""Halo of a tile, two cells wide, and the messages that exchange edges between neighbours.

Along latitude the halo is two rows of packs, which are contiguous in memory; along longitude it is two columns, which
are two lanes of a pack. Corners are not needed, as the stencil of a face extends along its own direction only.

:class:`Halo` exchanges during the computation of a forward step; :class:`EdgeExchange` blocks, for adjoint steps.
"""

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.kernels.step.arguments import REACH, SIDES, Side
from airshed.parallel.communicator import MpiRanks, all_of
from airshed.parallel.decomposition import ALONG_LATITUDE, OPPOSITE, Decomposition
from airshed.parallel.domain import Subdomain

if TYPE_CHECKING:
    from mpi4py import MPI

_TAGS: Final[dict[Side, int]] = {side: number for number, side in enumerate(SIDES)}
_SWAP_TAGS: Final[dict[Side, int]] = {side: 32 + number for number, side in enumerate(SIDES)}


def neighbours(decomposition: Decomposition, rank: int) -> dict[Side, int]:
    """Return the neighbours of a tile, on the sides where the grid continues."""
    sides = {side: decomposition.neighbour(rank, side) for side in SIDES}
    return {side: other for side, other in sides.items() if other is not None}


class Halo:
    """Halo beyond the open sides of one rank's tile; satisfies ``kernels.step.data.Neighbours``.

    Persistent requests send rows directly from the state, and columns from gather buffers.

    sides  sides with a neighbour
    bytes  received so far
    """

    def __init__(
        self, ranks: MpiRanks, decomposition: Decomposition, layout: Layout, species: int, levels: int
    ) -> None:
        self._handle, self._to = ranks.handle, neighbours(decomposition, ranks.rank)
        self.sides, self.bytes = tuple(self._to), 0
        # Arrays for the neighbours' edges; along longitude also buffers for two lanes, outgoing and incoming.
        self._received: dict[Side, AnyArray] = {}
        self._lanes: dict[Side, tuple[AnyArray, AnyArray]] = {}
        for side in self._to:
            shape: tuple[int, ...] = (REACH, layout.blocks) if side in ALONG_LATITUDE else (layout.rows,)
            self._received[side] = layout.empty(*shape, species, levels, layout.width)
            self._received[side][...] = 0.0
            if side not in ALONG_LATITUDE:
                lanes = (layout.rows, species, levels, REACH)
                self._lanes[side] = np.empty(lanes, layout.dtype), np.empty(lanes, layout.dtype)
        self._requests: dict[int, tuple[AnyArray, list[MPI.Prequest]]] = {}
        self._started: list[MPI.Prequest] = []
        weakref.finalize(self, _free, self._requests)  # at the latest at the end of Python, before that of MPI

    def start(self, q: AnyArray) -> Mapping[Side, AnyArray]:
        """Start sending the edges of the mixing ratios; return the arrays for those of the neighbours."""
        from mpi4py import MPI

        for side, (outgoing, _) in self._lanes.items():
            outgoing[...] = q[:, -1, ..., -REACH:] if side == "east" else q[:, 0, ..., :REACH]
        self._started = self._requests_of(q)
        MPI.Prequest.Startall(self._started)
        self.bytes += sum(self._incoming(side).nbytes for side in self.sides)
        return self._received

    def arrived(self) -> bool:
        """Advance MPI's progress; return whether all edges have arrived and the own edges are sent."""
        from mpi4py import MPI

        if not MPI.Request.Testall(self._started):
            return False
        for side, (_, incoming) in self._lanes.items():
            lanes = slice(REACH) if side == "east" else slice(-REACH, None)
            self._received[side][..., lanes] = incoming
        return True

    def close(self) -> None:
        """Free the requests."""
        _free(self._requests)

    def _requests_of(self, q: AnyArray) -> "list[MPI.Prequest]":
        """Return the requests for one of the two arrays that alternate as the state; created once for each."""
        if id(q) not in self._requests:
            requests = []
            for side, rank in self._to.items():
                rows = q[:REACH] if side == "south" else q[-REACH:]
                outgoing = self._lanes[side][0] if side in self._lanes else rows
                requests.append(self._handle.Recv_init(self._incoming(side), rank, _TAGS[OPPOSITE[side]]))
                requests.append(self._handle.Send_init(outgoing, rank, _TAGS[side]))
            self._requests[id(q)] = q, requests  # with the array, so that its id is not reused
        return self._requests[id(q)][1]

    def _incoming(self, side: Side) -> AnyArray:
        return self._lanes[side][1] if side in self._lanes else self._received[side]


def _free(plans: "dict[int, tuple[AnyArray, list[MPI.Prequest]]]") -> None:
    """Free requests, since MPI reports requests that remain at its end."""
    for _, requests in plans.values():
        for request in requests:
            request.Free()
    plans.clear()


class EdgeExchange:
    """Blocking exchange of edges with the neighbours of a tile."""

    def __init__(self, handle: "MPI.Intracomm", to: Mapping[Side, int]) -> None:
        self._handle, self._to, self.sides = handle, to, tuple(to)
        self._under_way: list[tuple[MPI.Request, AnyArray]] = []

    def __call__(self, outgoing: Mapping[Side, AnyArray], incoming: Mapping[Side, AnyArray]) -> None:
        """Send arrays to neighbours, fill others with theirs, and return when both are complete."""
        handle, to = self._handle, self._to
        pending = [(handle.Irecv(each, to[side], _SWAP_TAGS[OPPOSITE[side]]), each) for side, each in incoming.items()]
        for side, each in outgoing.items():
            edge = np.ascontiguousarray(each)
            pending.append((handle.Isend(edge, to[side], _SWAP_TAGS[side]), edge))
        self._under_way = pending  # MPI may still use the arrays after an error that interrupts the wait
        all_of([request for request, _ in pending])
        self._under_way = []


def edge_exchange(subdomain: Subdomain) -> EdgeExchange | None:
    """Return the exchange with neighbouring ranks; None for a single rank."""
    ranks = subdomain.ranks
    if not isinstance(ranks, MpiRanks):
        return None
    return EdgeExchange(ranks.handle, neighbours(subdomain.decomposition, ranks.rank))
