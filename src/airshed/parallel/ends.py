"""Finds which rank of this machine ended first, though ranks are no children of their launcher."""

import fcntl
import os
import secrets
import select
import socket
import struct
from contextlib import suppress
from threading import Thread
from typing import Final

_ABOVE_OTHERS: Final = 200
"""Linux closes the files of a process that ends from the greatest number down; an MPI speaks to its mpiexec below."""

LOST: Final = 137
"""Exit code of a rank whose launcher was killed, as if that signal had come here."""

_OWNER: Final = struct.Struct("=iII")
"""Process, user and group at the other end of a socket."""


class Ends:
    """Watches ranks by sockets, which the system closes when a rank ends, in order.

    Hydra names whichever process it finds ended, and where one is killed it kills the others at once: only the order of
    their ends tells which was lost. Hydra too misses a rank by a socket, long before the process has quite ended, and
    those that it kills may be gone first; but the socket to here is closed before Hydra's. Where the system has no
    epoll (other than Linux) nothing is known.

    address  the argument of `be_watched` in the ranks; empty where they cannot be watched
    """

    def __init__(self) -> None:
        self.address = ""
        self._ranks: dict[int, tuple[int, socket.socket]] = {}
        if hasattr(select, "epoll"):
            self.address = f"airshed-{secrets.token_hex(8)}"
            self._queue = select.epoll()
            self._door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._door.bind(f"\0{self.address}")  # a name that is in no folder, and goes when this process goes
            self._door.listen()
            self._doorkeeper = Thread(target=self._answer, daemon=True)
            self._doorkeeper.start()

    def first(self) -> int | None:
        """Return the rank that ended first; None where none has, or it is not known."""
        ended = self._queue.poll(0, len(self._ranks)) if self._ranks else []
        return self._ranks[ended[0][0]][0] if ended else None

    def close(self) -> None:
        """End watching."""
        if self.address:
            with suppress(OSError):  # closed already
                self._door.shutdown(socket.SHUT_RDWR)
            self._doorkeeper.join()
            self._queue.close()
        for _, line in self._ranks.values():
            line.close()
        self._ranks = {}

    def _answer(self) -> None:
        """Let ranks come until the door is shut; should it fail before, it closes, and those before it go on."""
        with self._door, suppress(OSError):
            while True:
                self._watch(self._door.accept()[0])

    def _watch(self, line: socket.socket) -> None:
        """Watch a rank from now on, and confirm it."""
        _, user, _ = _OWNER.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _OWNER.size))
        rank = line.recv(16) if user == os.getuid() else b""  # any user may come
        if not rank:
            line.close()
            return
        self._ranks[line.fileno()] = int(rank), line
        self._queue.register(line, select.EPOLLHUP)
        with suppress(BrokenPipeError):  # it has ended
            line.send(b".")


def be_watched(address: str, rank: int) -> None:
    """Let the launcher's `Ends` watch this process as long as it lasts, and end it with the launcher.

    Returns when it is watched. Does nothing where the launcher has gone, or is on another machine.
    """
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        line.connect(f"\0{address}")
        kept = fcntl.fcntl(line, fcntl.F_DUPFD_CLOEXEC, _ABOVE_OTHERS)  # only the end of the process closes it
        line.send(str(rank).encode())
        line.recv(1)
        Thread(target=_end_with_launcher, args=(kept,), name="airshed-launcher-watch", daemon=True).start()


def _end_with_launcher(line: int) -> None:
    """End this process when the system closes the launcher's end: a rank without its launcher is of no use.

    It is no child of the launcher, so the system sends it no signal. MPI ends the ranks of other machines with it.
    """
    queue = select.poll()
    queue.register(line, 0)  # reports the end alone
    while not queue.poll():
        pass
    os._exit(LOST)
