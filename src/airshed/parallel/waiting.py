"""Waiting for MPI that leaves the core to other ranks, for runs with more ranks than cores.

MPI waits by polling. This polls for a moment and then sleeps between polls, the longer the longer it has waited. With
six ranks on two cores a barrier takes 0.8 ms this way, and 12 ms in MPI's own.
"""

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mpi4py import MPI

_EAGER: Final = 200
"""Polls without a pause, about 0.1 ms."""
_PAUSE: Final = 2e-5
"""The first pause [s]."""
_LONGER: Final = 1.02
"""How much longer each pause is than the one before: a fiftieth of the time waited, at most, comes on top of it."""
_LONGEST: Final = 1e-3
"""No pause [s] is longer."""


def barrier(handle: "MPI.Intracomm") -> None:
    """Return when all ranks have called this."""
    request = handle.Ibarrier()
    asked = 0
    while not request.Test():
        asked = _rest(asked)


def any_of(requests: "list[MPI.Request]") -> int:
    """Return the number of a request that is done and was not before."""
    from mpi4py import MPI

    asked = 0
    while True:
        number, done = MPI.Request.Testany(requests)
        if done:
            return number
        asked = _rest(asked)


def all_of(requests: "list[MPI.Request]") -> None:
    """Return when all requests are done."""
    from mpi4py import MPI

    asked = 0
    while not MPI.Request.Testall(requests):
        asked = _rest(asked)


def _rest(asked: int) -> int:
    if asked >= _EAGER:
        time.sleep(min(_PAUSE * _LONGER ** (min(asked, 1000) - _EAGER), _LONGEST))
    return asked + 1
