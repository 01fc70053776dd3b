"""Stages of long preparations, in words: "reading the weather", "compiling the chemistry"."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_observer: ContextVar[Callable[[str], None] | None] = ContextVar("observer", default=None)


@contextmanager
def observing_stages(observer: Callable[[str], None]) -> Iterator[None]:
    """Call a function with the name of each stage that this thread begins in the block."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)


def begin_stage(name: str) -> None:
    """Report that a stage of a long preparation begins; without an observer nothing happens."""
    observer = _observer.get()
    if observer is not None:
        observer(name)
