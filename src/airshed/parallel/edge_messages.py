"""Exchange of edges of the state with neighbours by messages, see ``parallel.halo``."""

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.kernels.layout import Layout
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import REACH, SIDES, Side
from airshed.parallel.decomposition import ALONG_LATITUDE, OPPOSITE

if TYPE_CHECKING:
    from mpi4py import MPI

_TAGS: Final[dict[Side, int]] = {side: number for number, side in enumerate(SIDES)}


class EdgeMessages:
    """The messages between one rank and some of its neighbours; satisfies ``parallel.halo.Edges``.

    Persistent requests send rows from the state itself, and columns from buffers in which they are gathered.
    bytes  received in an exchange
    """

    def __init__(
        self, handle: "MPI.Intracomm", layout: Layout, middle: tuple[int, int], neighbours: Mapping[Side, int]
    ) -> None:
        self._handle, self._layout, self._middle, self._to = handle, layout, middle, neighbours
        self.sides = tuple(neighbours)
        self._received: dict[Side, AnyArray] = {}
        self._lanes: dict[Side, tuple[AnyArray, AnyArray]] = {}
        for side in self._to:
            self._make_buffers(side)
        self.bytes = sum(self._incoming(side).nbytes for side in self._to)
        self._requests: dict[int, tuple[AnyArray, list[MPI.Prequest]]] = {}
        self._started: list[MPI.Prequest] = []
        weakref.finalize(self, _free, self._requests)  # at the latest when Python ends, before MPI does

    def start(self, q: AnyArray) -> Mapping[Side, AnyArray]:
        """Begin to send the edges of the mixing ratios; return the arrays for those of the neighbours."""
        from mpi4py import MPI

        for side, (outgoing, _) in self._lanes.items():
            outgoing[...] = q[:, -1, ..., -REACH:] if side == "east" else q[:, 0, ..., :REACH]
        self._started = self._requests_of(q)
        MPI.Prequest.Startall(self._started)
        return self._received

    def arrived(self) -> bool:
        """Let MPI progress; return whether all edges have arrived, and the own ones are sent."""
        from mpi4py import MPI

        if not MPI.Request.Testall(self._started):
            return False
        for side, (_, incoming) in self._lanes.items():
            target = self._received[side]
            if side == "east":
                target[..., :REACH] = incoming
            else:
                target[..., -REACH:] = incoming
        return True

    def close(self) -> None:
        """Free the requests."""
        _free(self._requests)

    def _make_buffers(self, side: Side) -> None:
        layout, middle = self._layout, self._middle
        if side in ALONG_LATITUDE:
            self._received[side] = layout.memory.zeros((REACH, layout.blocks, *middle, layout.width), layout.dtype)
            return
        self._received[side] = layout.memory.zeros((layout.rows, *middle, layout.width), layout.dtype)
        shape = (layout.rows, *middle, REACH)
        self._lanes[side] = np.empty(shape, layout.dtype), np.empty(shape, layout.dtype)

    def _requests_of(self, q: AnyArray) -> "list[MPI.Prequest]":
        """The requests for one of the two arrays that alternate as the state; made once for each."""
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
    """Free requests, as MPI complains of those that are left at its end."""
    for _, requests in plans.values():
        for request in requests:
            request.Free()
    plans.clear()
