"""Exclusive use of a simulation by one thread, and the release of its resources."""

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
    """Raise CaseError if another thread is in a block with the same lock.

    During a step the state is inconsistent, and another thread must not read it. Calls of the same thread, as in an
    observer, are allowed.
    """
    if not lock.acquire(blocking=False):
        raise CaseError("another thread is using this simulation; wait for it, or create a simulation for each thread")
    try:
        yield
    finally:
        lock.release()


def by_one_thread(method: Callable[Concatenate[Owner, Given], Result]) -> Callable[Concatenate[Owner, Given], Result]:
    """Return a method that is restricted to one thread at a time, see :func:`one_thread`; ``_use`` is the lock."""

    @wraps(method)
    def alone(self: Owner, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        with one_thread(self._use):  # type: ignore[attr-defined]
            return method(self, *args, **kwargs)

    return alone


@contextmanager
def closed_on_error(*owners: Any) -> Iterator[None]:
    """Close simulations, models or files if a block raises."""
    try:
        yield
    except BaseException:
        for owner in owners:
            owner.close()
        raise


def free_unreferenced(ranks: Communicator, stack: ExitStack, records: "RunRecords | None", model: "Model") -> None:
    """Release the threads, the files and the folder lock of a simulation that was never closed.

    An unfinished run is left as after a kill. With several ranks each rank releases only resources that require no
    communication, as garbage is collected at different times.
    """
    if not isinstance(ranks, MpiRanks):
        stack.close()
        model.close()
    elif records is not None:
        records.abandon()


@contextmanager
def quick_turns() -> Iterator[None]:
    """Shorten the switch interval of Python threads, so that a step waits less for the thread that reads ahead.

    With the default of 5 ms each step could wait for a third of its length.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
