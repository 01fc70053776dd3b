"""A simulation is used by one thread at a time; one that is no longer referenced is freed here."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from airshed.core.errors import CaseError
from airshed.parallel.communicator import Communicator, MpiRanks

if TYPE_CHECKING:
    from airshed.runtime.model import Model
    from airshed.runtime.records import RunRecords

Given = ParamSpec("Given")
Result = TypeVar("Result")


Owner = TypeVar("Owner")


def by_one_thread(method: Callable[Concatenate[Owner, Given], Result]) -> Callable[Concatenate[Owner, Given], Result]:
    """Return a method that refuses, by CaseError, a thread while another one is in such a method of the same object.

    The state changes during a step, so another thread would read values of no time. Calls of the same thread, as in an
    observer, are allowed. The object has the lock ``_use``.
    """

    @wraps(method)
    def alone(self: Owner, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        lock = self._use  # type: ignore[attr-defined]
        if not lock.acquire(blocking=False):
            raise CaseError("another thread is using this simulation; wait for it, or make one for each thread")
        try:
            return method(self, *args, **kwargs)
        finally:
            lock.release()

    return alone


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
