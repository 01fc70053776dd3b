"""Ctrl-C: the first one asks for a stop at the next step boundary, the second one ends the program."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Interrupt:
    """Whether somebody asked for a stop."""

    requested: bool = False


@contextmanager
def stop_on_interrupt(request_stop: Callable[[], None]) -> Iterator[Interrupt]:
    """Call ``request_stop`` at the first SIGINT or SIGTERM in the block; raise KeyboardInterrupt at the second."""
    interrupt = Interrupt()

    def handle(number: int, frame: FrameType | None) -> None:
        if interrupt.requested:
            raise KeyboardInterrupt
        interrupt.requested = True
        request_stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
