"""Limits of a server for its clients, and the errors of requests that exceed them."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Limits:
    """Limits that hold for all clients.

    sessions, snapshots     most sessions at a time; most snapshots of a session
    cells                   cells of a case that a client opens
    snapshot_bytes          bytes of all snapshots of all sessions
    sockets, subscriptions  WebSockets of all clients; subscriptions of each WebSocket
    request_bytes, message_bytes   of the body of a request; of a message on a WebSocket
    connections             of all kinds, at most half of the limit of open files
    head                    seconds for the header of a request
    silence, writing        seconds between requests; seconds within which a client must read the data sent to it
    unauthenticated, unauthenticated_silence, unauthenticated_requests   of a connection without a valid token: seconds,
                            seconds between requests, and requests
    requests, burst         requests and messages of a client: mean number per second, and largest burst
    open_requests, open_burst   the same for all requests without a token together
    wrong_tokens            per minute, after which all requests with a wrong token are refused
    lease                   seconds for which control lasts without a command
    idle                    seconds without a client after which a session ends with a snapshot; 0 for never
    log, log_bytes          most commands in a log, and most bytes of them as JSON
    """

    sessions: int = 8
    cells: int = 2_000_000
    snapshots: int = 32
    snapshot_bytes: int = 2_000_000_000
    connections: int = 512
    head: float = 10.0
    silence: int = 60
    writing: float = 20.0
    unauthenticated: float = 30.0
    unauthenticated_silence: int = 5
    unauthenticated_requests: int = 100
    sockets: int = 128
    subscriptions: int = 32
    request_bytes: int = 1_000_000
    message_bytes: int = 65_536
    requests: float = 2000.0
    burst: float = 4000.0
    open_requests: float = 100.0
    open_burst: float = 300.0
    wrong_tokens: int = 30
    lease: float = 30.0
    idle: float = 0.0
    log: int = 100_000
    log_bytes: int = 4_000_000

    def by_name(self) -> dict[str, float]:
        """Return the limits by name."""
        return {name: float(value) for name, value in asdict(self).items()}


class RefusedError(Exception):
    """A request that is refused with an HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Bucket:
    """Token bucket: `rate` requests per second on average, and at most `burst` in a row."""

    rate: float
    burst: float
    clock: Callable[[], float] = time.monotonic
    _left: float = field(init=False)
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        self._left, self._at = self.burst, self.clock()

    def take(self) -> bool:
        """Take a token; return whether there was one."""
        now = self.clock()
        self._left = min(self.burst, self._left + (now - self._at) * self.rate)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
