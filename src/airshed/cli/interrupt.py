"""Ctrl-C: the first one asks for a stop at the next step boundary, the second one ends the program."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_interrupt(request_stop: Callable[[], None]) -> Iterator[None]:
    """Call ``request_stop`` at the first SIGINT or SIGTERM in the block; raise KeyboardInterrupt at the second."""
    requested = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal requested
        if requested:
            raise KeyboardInterrupt
        requested = True
        request_stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
