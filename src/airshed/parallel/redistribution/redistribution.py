"""Moves an array between two distributions by a plan, repeatedly and without allocating."""

import time
from typing import Any, Protocol, Self, runtime_checkable

import numpy.typing as npt

from airshed.parallel.communicator import Communicator
from airshed.parallel.redistribution.mpi import MpiMessages, OwnMessages
from airshed.parallel.redistribution.plan import Hop, Plan

AnyArray = npt.NDArray[Any]


class HopExecutor(Protocol):
    """One rank's part of a hop."""

    def __call__(self, source: AnyArray | None, target: AnyArray | None = None) -> AnyArray | None:
        """Return the rank's array after the hop."""
        ...

    def close(self) -> None:
        """Free the resources of the hop."""
        ...


@runtime_checkable
class Transport(Protocol):
    """A transport of arrays between ranks."""

    name: str
    rank: int
    size: int
    one_sided: bool
    """Whether a rank writes into another's memory without its help."""

    def hop(self, hop: Hop) -> HopExecutor:
        """Return this rank's part of a hop; all ranks make the same hops in the same order."""
        ...


class Redistribution:
    """A plan bound to a transport: call it with this rank's part of the source for its part of the target.

    ranks  a transport, or a communicator, whose messages then carry the array

    Every rank of the transport makes it and calls it, one that holds no part with None. The returned array is
    the same one each time, overwritten by the next call, unless `out` is given. Nothing is allocated in a call.
    `seconds` is how long the last call took on this rank [s].

    Raises RedistributionError where the array does not fit the plan's source; NumericalError where a number is too
    large for the target's format.
    """

    def __init__(self, ranks: Communicator | Transport, plan: Plan) -> None:
        self.plan = plan
        self._made = not isinstance(ranks, Transport)
        self.transport: Transport = ranks if isinstance(ranks, Transport) else messages_of(ranks)
        self.seconds = 0.0
        self._hops = [self.transport.hop(hop) for hop in plan.hops]

    @property
    def rank(self) -> int:
        """The number of this rank in the plan's distributions."""
        return self.transport.rank

    def __call__(self, source: AnyArray | None, out: AnyArray | None = None) -> AnyArray | None:
        """Return this rank's part of the target; None where it holds none."""
        self.plan.source.check(self.rank, source)
        if out is not None:
            self.plan.target.check(self.rank, out)
        began = time.perf_counter()
        for hop in self._hops[:-1]:
            source = hop(source)
        target = self._hops[-1](source, out)
        self.seconds = time.perf_counter() - began
        return target

    def close(self) -> None:
        """Free its resources; all ranks call this."""
        for hop in self._hops:
            hop.close()
        if self._made and isinstance(self.transport, MpiMessages):
            self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close, but not after an error, which only this rank may have: closing waits for all."""
        if kind is None:
            self.close()


def messages_of(ranks: Communicator) -> MpiMessages | OwnMessages:
    """Return the messages of a communicator."""
    return OwnMessages() if ranks.handle is None else MpiMessages(ranks.handle)
