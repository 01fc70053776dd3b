"""Blocking exchange of edges with the neighbours of a tile, for adjoint steps.

The halo of forward steps is exchanged during the computation, see ``parallel.halo``.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import SIDES, Side
from airshed.parallel.communicator import MpiRanks
from airshed.parallel.decomposition import OPPOSITE
from airshed.parallel.subdomain import Subdomain
from airshed.parallel.waiting import all_of

if TYPE_CHECKING:
    from mpi4py import MPI

_TAGS: Final[dict[Side, int]] = {side: 32 + number for number, side in enumerate(SIDES)}
"""The tag; those of the halo are others."""


class EdgeSwap:
    """Messages between one rank and its neighbours; satisfies ``kernels.step.data.Swap``."""

    def __init__(self, handle: "MPI.Intracomm", neighbours: Mapping[Side, int]) -> None:
        self._handle, self._to = handle, neighbours
        self.sides = tuple(neighbours)
        self._under_way: list[tuple[MPI.Request, AnyArray]] = []

    def __call__(self, given: Mapping[Side, AnyArray], taken: Mapping[Side, AnyArray]) -> None:
        """Send arrays to neighbours, and fill others with what these send; return when both are done."""
        handle, to = self._handle, self._to
        pending = [(handle.Irecv(each, to[side], _TAGS[OPPOSITE[side]]), each) for side, each in taken.items()]
        for side, each in given.items():
            edge = np.ascontiguousarray(each)
            pending.append((handle.Isend(edge, to[side], _TAGS[side]), edge))
        self._under_way = pending  # MPI may still use the arrays after an error that interrupts the wait
        all_of([request for request, _ in pending])
        self._under_way = []


def edge_swap(subdomain: Subdomain) -> EdgeSwap | None:
    """Return the exchange with the ranks beside this one; None for one rank alone."""
    ranks, decomposition = subdomain.ranks, subdomain.decomposition
    if not isinstance(ranks, MpiRanks):
        return None
    sides = {side: decomposition.neighbour(ranks.rank, side) for side in SIDES}
    return EdgeSwap(ranks.handle, {side: rank for side, rank in sides.items() if rank is not None})
