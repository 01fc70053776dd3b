"""Identification of a lost rank by sockets that close with it, and by filtered messages of MPI launchers."""

import fcntl
import os
import re
import secrets
import select
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import Final

_ABOVE_OTHERS: Final = 200
"""First descriptor of a monitor socket: Linux closes files from the greatest number down, and MPI's are below."""

LOST: Final = 137
"""Exit code of a rank whose launcher was killed, as if that signal had reached the rank."""

_OWNER: Final = struct.Struct("=iII")
"""Process, user and group at the other end of a socket."""


class RankMonitor:
    """Monitor of ranks by sockets, which the system closes in order when ranks end.

    Hydra names any process that it finds ended, and kills the others as soon as one is killed: only the order of their
    ends identifies the lost rank. Hydra also notices a lost rank by a socket, long before the process has fully ended,
    and the ranks that it kills may end first. The monitor's socket, however, is closed before that of Hydra. Without
    epoll (on systems other than Linux) nothing is known.

    address  argument of `join_monitor` in the ranks; empty if they cannot be monitored
    """

    def __init__(self) -> None:
        self.address = ""
        self._ranks: dict[int, tuple[int, socket.socket]] = {}
        if hasattr(select, "epoll"):
            self.address = f"airshed-{secrets.token_hex(8)}"
            self._queue = select.epoll()
            self._door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self._door.bind(f"\0{self.address}")  # an abstract name, without a file, that ends with this process
            self._door.listen()
            self._doorkeeper = Thread(target=self._answer, daemon=True)
            self._doorkeeper.start()

    def first(self) -> int | None:
        """Return the rank that ended first; None if none has, or if it is unknown."""
        ended = self._queue.poll(0, len(self._ranks)) if self._ranks else []
        return self._ranks[ended[0][0]][0] if ended else None

    def close(self) -> None:
        """Stop monitoring."""
        if self.address:
            with suppress(OSError):  # already closed
                self._door.shutdown(socket.SHUT_RDWR)
            self._doorkeeper.join()
            self._queue.close()
        for _, line in self._ranks.values():
            line.close()
        self._ranks = {}

    def _answer(self) -> None:
        """Accept ranks until the socket is closed; after a failure the socket closes, and registered ranks remain."""
        with self._door, suppress(OSError):
            while True:
                self._watch(self._door.accept()[0])

    def _watch(self, line: socket.socket) -> None:
        """Monitor a rank from now on, and confirm it."""
        _, user, _ = _OWNER.unpack(line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _OWNER.size))
        rank = line.recv(16) if user == os.getuid() else b""  # any user can connect
        if not rank:
            line.close()
            return
        self._ranks[line.fileno()] = int(rank), line
        self._queue.register(line, select.EPOLLHUP)
        with suppress(BrokenPipeError):  # the rank has ended
            line.send(b".")


def join_monitor(address: str, rank: int) -> None:
    """Register this process with the launcher's `RankMonitor`, and end it with the launcher.

    Returns when the launcher has confirmed. No effect if the launcher has ended, or is on another machine.
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
    """End this process when the launcher's socket closes, since a rank without its launcher is useless.

    It is not a child of the launcher, so the system sends no signal. MPI ends the ranks of other machines with it.
    """
    queue = select.poll()
    queue.register(line, 0)  # reports the end alone
    while not queue.poll():
        pass
    os._exit(LOST)


ANNOUNCEMENT: Final = "airshed-rank"
"""Start of the line in which a rank sends its number, process and host to the launcher."""

_RULES: Final = (b"=" * 83, b"-" * 74)
"""Lines that delimit long messages of Hydra and OpenMPI."""

_LONGEST: Final = 30
"""Maximum number of lines between two delimiters; longer blocks are other text."""

_LINES: Final = tuple(
    re.compile(text)
    for text in (
        rb"Abort\(\d+\) on node \d+ \(rank \d+ in comm \d+\): application called MPI_Abort",
        rb"YOUR APPLICATION TERMINATED WITH THE EXIT STRING: ",
        rb"This typically refers to a problem with your application\.",
        rb"Please see the FAQ page for debugging suggestions",
        rb"\[\S+\] \[\[\d+,\d+\],\d+\] ORTE_ERROR_LOG: .*show_help\.c",
        rb"\[mpiexec@[^]]*\] (Sending |Press )Ctrl-C",
        rb"(mpirun|mpiexec)\S*: (Forwarding signal|abort is already in progress)",
        rb"MPICH: Builtin communicator [0-9a-f]+ has pending \d+ references",  # after an error, of pending sums
        rb"airshed-rank \d+ \d+ ",
    )
)
_STARTS: Final = (
    *(b"Abort(", b"YOUR APPL", b"This typi", b"Please see", b"[", b"mpirun", b"mpiexec", b"MPICH: ", b"airshed-rank "),
    *(rule[:20] for rule in _RULES),
)
"""Beginnings of lines that are held back until they are complete; all others are forwarded as they arrive."""

_BLOCKS: Final = re.compile(
    rb"BAD TERMINATION|MPI_ABORT was invoked|Primary job  terminated|Primary job terminated"
    rb"|noticed that process rank|detected that one or more processes exited|has exited improperly"
    rb"|prterun (noticed|detected)|PRTE has lost communication"
)


@dataclass
class LaunchReport:
    """Facts from the messages of the launcher and the ranks.

    processes     rank -> (process, host)
    lost_process  process that a signal killed (Hydra), or lost_rank its rank (OpenMPI)
    aborted       exit code of a rank that aborted all ranks; it may be killed with them before its own end
    """

    processes: dict[int, tuple[int, str]] = field(default_factory=dict)
    lost_process: tuple[int, str] | None = None
    lost_rank: int | None = None
    signal: str | None = None
    aborted: int | None = None

    def parse(self, text: str) -> None:
        """Extract facts from text that was filtered out."""
        for rank, process, host in re.findall(rf"^{ANNOUNCEMENT} (\d+) (\d+) (\S+)$", text, re.MULTILINE):
            self.processes[int(rank)] = (int(process), host)
        if found := re.search(r"PID (\d+) RUNNING AT (\S+)", text):
            self.lost_process = (int(found[1]), found[2])
        if found := re.search(r"process rank (\d+) with PID \d+ on node \S+ exited on\s+signal (\d+)", text):
            self.lost_rank, self.signal = int(found[1]), found[2]
        if found := re.search(r"EXIT STRING: .*\(signal (\d+)\)", text):
            self.signal = found[1]
        if found := re.search(r"Abort\((\d+)\) on node|MPI_ABORT was invoked.*?errorcode (\d+)", text, re.DOTALL):
            self.aborted = int(found[1] or found[2])

    def lost(self, first: int | None = None) -> int | None:
        """Return the rank that was lost, as far as it is known.

        first  rank of this machine that ended first, if known: Hydra may name any rank that has ended
        """
        if self.lost_rank is None and self.lost_process is not None:
            if self.lost_process[1] == socket.gethostname() and first is not None:
                return first
            return next((rank for rank, known in self.processes.items() if known == self.lost_process), None)
        return self.lost_rank


class Filter:
    """Filter that forwards a stream immediately, without the launcher's own lines.

    Only lines that begin like such a line, and text between two delimiters of the launchers, are held back until
    complete.
    """

    def __init__(self, facts: LaunchReport) -> None:
        self._facts = facts
        self._line = b""  # the beginning of a line that may be the launcher's
        self._passing = False  # the beginning of this line has been forwarded
        self._empty = b""  # an empty line, which may belong to the block after it
        self._block: list[bytes] = []  # lines from a delimiter on

    def feed(self, data: bytes) -> bytes:
        """Return the part of the new and earlier data that can be forwarded now."""
        return b"".join(self._piece(piece) for piece in re.findall(rb"[^\n]*\n|[^\n]+", data))

    def end(self) -> bytes:
        """Return the text that is held back, at the end of the stream."""
        return self._released([*self._block, self._line])

    def _piece(self, piece: bytes) -> bytes:
        """Process a line, or the next part of one."""
        whole = piece.endswith(b"\n")
        if self._passing:
            self._passing = not whole
            return piece
        self._line += piece
        begun = self._line
        if not whole and (self._block or any(start.startswith(begun) or begun.startswith(start) for start in _STARTS)):
            return b""
        line, self._line, self._passing = self._line, b"", not whole
        return self._whole(line) if whole else self._waiting() + line

    def _whole(self, line: bytes) -> bytes:
        """Return the text to forward after a complete line."""
        is_rule = line.rstrip() in _RULES
        if self._block or is_rule:
            self._block.append(line)
            closed = len(self._block) > 1 and (is_rule or len(self._block) > _LONGEST)
            return self._released(self._block) if closed else b""
        if any(known.match(line) for known in _LINES):
            self._facts.parse(line.decode(errors="replace"))
            return b""
        if line == b"\n":
            before, self._empty = self._empty, line
            return before
        return self._waiting() + line

    def _waiting(self) -> bytes:
        empty, self._empty = self._empty, b""
        return empty

    def _released(self, lines: list[bytes]) -> bytes:
        """Return a block of lines with the empty line before it; nothing if it is the launcher's."""
        text, self._block, self._line = b"".join(lines), [], b""
        before = self._waiting()
        if not _BLOCKS.search(text):
            return before + text
        self._facts.parse(text.decode(errors="replace"))
        return b""
