"""Threads and a simulation: one at a time uses it, others get their turns, and all end when it is freed."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from airshed.core.errors import CaseError
from airshed.parallel.communicator import Communicator, MpiRanks

if TYPE_CHECKING:
    from threading import RLock

    from airshed.runtime.model import Model
    from airshed.runtime.records import RunRecords

_TURN: Final = 2e-4  # s

Given = ParamSpec("Given")
Result = TypeVar("Result")
Owner = TypeVar("Owner")


@contextmanager
def one_thread(lock: "RLock") -> Iterator[None]:
    """Refuse, by CaseError, a thread while another one is in a block with the same lock.

    The state changes during a step, so another thread would read values of no time. Calls of the same thread, as in an
    observer, are allowed.
    """
    if not lock.acquire(blocking=False):
        raise CaseError("another thread is using this simulation; wait for it, or make one for each thread")
    try:
        yield
    finally:
        lock.release()


def by_one_thread(method: Callable[Concatenate[Owner, Given], Result]) -> Callable[Concatenate[Owner, Given], Result]:
    """Return a method that one thread at a time may call, see :func:`one_thread`. The object has the lock ``_use``."""

    @wraps(method)
    def alone(self: Owner, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        with one_thread(self._use):  # type: ignore[attr-defined]
            return method(self, *args, **kwargs)

    return alone


@contextmanager
def closed_on_error(*owners: Any) -> Iterator[None]:
    """Close simulations, models or files where a block raises."""
    try:
        yield
    except BaseException:
        for owner in owners:
            owner.close()
        raise


def free_unreferenced(ranks: Communicator, stack: ExitStack, records: "RunRecords | None", model: "Model") -> None:
    """Free the threads, the files and the folder's lock of a simulation that was never closed.

    An unfinished run is left as a kill leaves it. With several ranks each does only what needs no other, as garbage is
    collected at another time there.
    """
    if not isinstance(ranks, MpiRanks):
        stack.close()
        model.close()
    elif records is not None:
        records.abandon()


@contextmanager
def quick_turns() -> Iterator[None]:
    """Let Python change threads more often, so that a step waits less for the thread that reads ahead.

    With the default of 5 ms each step could wait a third of its own length for its turn.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
