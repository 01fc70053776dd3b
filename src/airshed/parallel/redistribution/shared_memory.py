"""Direct writes between ranks of one node, in MPI windows of shared memory.

A message is one copy from the sender's array into the receiver's, which also transposes and converts.
"""

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from airshed.core.arrays import AnyArray
from airshed.core.errors import RedistributionError
from airshed.parallel.communicator import barrier
from airshed.parallel.redistribution.plan import Hop
from airshed.parallel.redistribution.redistribution import Transport, converted_copy

if TYPE_CHECKING:
    from mpi4py import MPI


class SharedMemory(Transport):
    """Ranks of a communicator on one node.

    Raises RedistributionError if they are on several nodes.
    """

    name, one_sided = "shared memory", True

    def __init__(self, handle: "MPI.Intracomm") -> None:
        from mpi4py import MPI

        node = handle.Split_type(MPI.COMM_TYPE_SHARED)
        together = node.Get_size() == handle.Get_size()
        node.Free()
        if not handle.allreduce(together, MPI.LAND):
            raise RedistributionError("the ranks are on several nodes, which share no memory; use the transport MPI")
        self.handle = handle.Dup()
        self.rank, self.size = handle.Get_rank(), handle.Get_size()

    def hop(self, hop: Hop) -> "WindowHop":
        """Return this rank's part of a hop, whose target is in shared memory; collective."""
        return WindowHop(self, hop)

    def close(self) -> None:
        """Free the communicator; collective."""
        self.handle.Free()


class WindowHop:
    """The part of a hop on one rank; a call with the rank's array returns its array after the hop."""

    def __init__(self, memory: SharedMemory, hop: Hop) -> None:
        from mpi4py import MPI

        rank, self._handle = memory.rank, memory.handle
        held = prod(hop.target.local_shape(rank)) if rank in hop.target.ranks else 0
        self._window = MPI.Win.Allocate_shared(held * hop.target.numbers.itemsize, 1, comm=self._handle)
        self._window.Lock_all(MPI.MODE_NOCHECK)
        self.target = self._array(hop, rank) if rank in hop.target.ranks else None
        self._source = hop.source
        self._writes = []
        for message in (each for each in hop.messages if each.sender == rank):
            there = hop.target.in_global_order(self._array(hop, message.receiver))
            targets = [there[box] for box in hop.target.boxes(message.receiver, message.part)]
            self._writes.append((hop.source.boxes(rank, message.part), targets))

    def __call__(self, source: AnyArray | None, target: AnyArray | None = None) -> AnyArray | None:
        """Move the array into the hop's own; from there into `target` if given."""
        self._barrier()  # no rank still reads the result of the last call
        if source is not None:
            here = self._source.in_global_order(source)
            for boxes, targets in self._writes:
                for box, there in zip(boxes, targets, strict=True):
                    converted_copy(there, here[box])
        self._barrier()
        if target is None or self.target is None:
            return self.target
        np.copyto(target, self.target)
        return target

    def close(self) -> None:
        """Free the memory, including the hop's own array; collective."""
        self._writes, self.target = [], None
        self._window.Unlock_all()
        self._window.Free()

    def _barrier(self) -> None:
        self._window.Sync()
        barrier(self._handle)
        self._window.Sync()

    def _array(self, hop: Hop, rank: int) -> AnyArray:
        memory: Any = self._window.Shared_query(rank)[0]
        return np.ndarray(hop.target.local_shape(rank), hop.target.numbers, memory)
