"""Which of several processes of this machine ended first, though none of them is a child of this one."""

import os
import select


class Ends:
    """Watches processes by descriptors that become readable when they end; the system keeps the order.

    Hydra names whichever process it finds ended, and where one is killed it kills the others at once: only the order of
    their ends tells which was lost. Where the system has no such descriptors (other than Linux) nothing is known.
    """

    def __init__(self) -> None:
        self._queue = select.epoll() if hasattr(select, "epoll") and hasattr(os, "pidfd_open") else None
        self._ranks: dict[int, int] = {}

    def watch(self, rank: int, process: int) -> None:
        """Watch the process of a rank from now on."""
        if self._queue is None:
            return
        try:
            descriptor = os.pidfd_open(process)
        except OSError:  # it has ended, or the system is too old
            return
        self._ranks[descriptor] = rank
        self._queue.register(descriptor, select.EPOLLIN)

    def first(self) -> int | None:
        """Return the rank whose process ended first; None where none has, or it cannot be told."""
        ended = [] if self._queue is None else self._queue.poll(0, max(len(self._ranks), 1))
        return self._ranks[ended[0][0]] if ended else None

    def close(self) -> None:
        """Watch no longer."""
        if self._queue is not None:
            self._queue.close()
        for descriptor in self._ranks:
            os.close(descriptor)
        self._queue, self._ranks = None, {}
