"""What only the first of several ranks does: there is one folder, and one terminal."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def is_first() -> bool:
    """Whether this is the first rank, or the only one."""
    from airshed.parallel.communicator import world

    return world().rank == 0


def on_first(work: Callable[[], T]) -> T:
    """Let the first rank do something while the others wait; return its result, or raise its error, on all."""
    from airshed.io.channel import Channel
    from airshed.parallel.communicator import world

    channel = Channel(world())
    try:
        result = channel.on_root(work)
    except Exception:  # of all ranks; an interrupt may be of this one alone, and to close is for all together
        channel.close()
        raise
    channel.close()
    return result
