"""How much a server gives: to all clients together, and to each."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds that hold whatever clients do.

    sessions, snapshots     at once; snapshots of a session
    cells                   of a case that a client opens
    snapshot_bytes          of all snapshots of all sessions
    sockets, subscriptions  WebSockets of all clients; subscriptions of each
    request_bytes, message_bytes   of a request's body; of a message on a WebSocket
    connections, head       of all kinds, at most half as many as files may be open; seconds for the head of a request
    silence, writing        seconds between requests; seconds in which a client must take what is sent to it
    stranger, stranger_silence, stranger_requests   seconds, seconds between requests, and requests of a connection
                            whose requests have no token
    requests, burst         requests and messages of a client a second, and how many at once
    open_requests, open_burst   the same of all requests that need no token, together
    wrong_tokens            a minute, after which all who come without the right one wait
    lease                   seconds for which control lasts without a command
    idle                    seconds without a client after which a session ends with a snapshot; 0 for never
    log, log_bytes          commands in a log, and their bytes as JSON; a session takes no more
    """

    sessions: int = 8
    cells: int = 2_000_000
    snapshots: int = 32
    snapshot_bytes: int = 2_000_000_000
    connections: int = 512
    head: float = 10.0
    silence: int = 60
    writing: float = 20.0
    stranger: float = 30.0
    stranger_silence: int = 5
    stranger_requests: int = 100
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

    def told(self) -> dict[str, float]:
        """Return them by name, as clients are told."""
        return {name: float(value) for name, value in asdict(self).items()}
