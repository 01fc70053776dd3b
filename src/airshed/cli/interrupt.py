"""Ctrl-C: the first one requests a stop after the present steps, the second one ends the program."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from airshed.parallel.environment import launched_rank

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C, as in shells."""


def answer_early() -> None:
    """End the program at SIGINT with a line until a command begins; of several ranks the first one prints it.

    KeyboardInterrupt could arise in the middle of an import, in the reader of arguments, or where nothing may raise.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is turned off: by nohup, or by sh
        signal.signal(signal.SIGINT, _early)


def end_early_answers() -> None:
    """Raise KeyboardInterrupt at SIGINT from now on, as a command expects."""
    if signal.getsignal(signal.SIGINT) is _early:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _early(number: int, frame: FrameType | None) -> None:
    if not launched_rank():
        os.write(2, b"airshed: interrupted before it began\n")
    os._exit(INTERRUPTED)


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
