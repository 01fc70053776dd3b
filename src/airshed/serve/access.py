"""Access control: limits, the lease of a session, and checks of the token, origin, host, size and rate of requests."""

import hmac
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from airshed.serve.protocol import types
from airshed.serve.protocol.errors import ControlledError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CONNECTION: Final = "connection"
"""Key of the connection in the state of a request."""

_OPEN_PATHS: Final = ("/api/openapi.json",)
_POLICY: Final = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; worker-src 'self' blob:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
_MINUTE: Final = 60.0
_DIGITS, _ENDLESS = 19, 1 << 62


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


@dataclass(frozen=True)
class Client:
    """Author of requests: `identity` is a secret that the client chose, `author` a name for display."""

    identity: str
    author: str


@dataclass
class Lease:
    """Control of a session.

    The first client to send a command gets it, and has it until it gives it up or sends nothing for `length` seconds.
    """

    length: float
    clock: Callable[[], float] = time.monotonic
    holder: Client | None = None
    asking: Client | None = None
    _until: float = 0.0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def command(self, client: Client) -> None:
        """Renew the lease for a command of a client; raises ControlledError where another client has control."""
        with self._lock:
            holder = self.held_by()
            if holder is not None and holder.identity != client.identity:
                left = self._until - self.clock()
                raise ControlledError(
                    f"{holder.author} has control of this session, for at most {left:.0f} s more; "
                    "request control, or watch"
                )
            self._take(client)

    def ask(self, client: Client, *, ask: bool = False) -> types.Control:
        """Take control if it is free; otherwise record the request if `ask`, so that the holder can give control up."""
        with self._lock:
            holder = self.held_by()
            if holder is None or holder.identity == client.identity:
                self._take(client)
            elif ask:
                self.asking = client
            return self.state_for(client)

    def give_up(self, client: Client) -> types.Control:
        """Give control up, to the client that requests it if there is one."""
        with self._lock:
            holder = self.held_by()
            if holder is not None and holder.identity == client.identity:
                self._free()
            return self.state_for(client)

    def held_by(self) -> Client | None:
        """Return the client that has control now."""
        with self._lock:
            if self.holder is not None and self.clock() > self._until:
                self._free()
            return self.holder

    def _free(self) -> None:
        self.holder = None
        if self.asking is not None:
            self._take(self.asking)

    def state_for(self, client: Client) -> types.Control:
        """Return the state of control, as sent to a client."""
        holder = self.held_by()
        return types.Control(
            controller=None if holder is None else holder.author,
            yours=holder is not None and holder.identity == client.identity,
            expires=None if holder is None else round(self._until - self.clock(), 3),
            asking=None if self.asking is None else self.asking.author,
        )

    def _take(self, client: Client) -> None:
        self.holder, self._until = client, self.clock() + self.length
        if self.asking is not None and self.asking.identity == client.identity:
            self.asking = None


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


@dataclass
class Gate:
    """Checks of every request.

    hosts    host names of the server, with the port; others are refused, against DNS rebinding by a web page
    origins  of pages that may send requests; a request of a program has no origin
    """

    token: str
    hosts: frozenset[str]
    origins: frozenset[str]
    limits: Limits
    _wrong: Bucket = field(init=False)
    _open: Bucket = field(init=False)
    _buckets: dict[str, Bucket] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._open = Bucket(self.limits.open_requests, self.limits.open_burst)
        self._wrong = Bucket(self.limits.wrong_tokens / _MINUTE, float(self.limits.wrong_tokens))

    @classmethod
    def of(
        cls, token: str, port: int, limits: Limits, names: Iterable[str] = (), origins: Iterable[str] = ()
    ) -> "Gate":
        """Return the gate of a server on this machine, with further `names` and `origins` of a proxy in front of it."""
        here = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
        pages = [f"{scheme}://{host}" for scheme in ("http", "https") for host in here]
        return cls(token, frozenset([*here, *names]), frozenset([*pages, *origins]), limits)

    def check_place(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Raise RefusedError for a host or an origin that is not allowed."""
        found = {name.lower(): value.decode("latin-1") for name, value in headers}
        if found.get(b"host", "") not in self.hosts:
            raise RefusedError(403, "the server does not accept this host name; add it with --known-as")
        origin = found.get(b"origin")
        if origin is not None and _plain(origin) not in self.origins:
            raise RefusedError(403, "pages of another origin may not send requests")

    def check_token(self, given: str) -> None:
        """Raise RefusedError for a wrong token; the comparison takes the same time for every token."""
        if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self.token.encode()):
            if not self._wrong.take():
                raise RefusedError(429, "too many wrong tokens; wait a minute")
            raise RefusedError(
                401, "the token is missing or wrong; it follows #token= in the address that airshed serve printed"
            )

    def check_open_rate(self) -> None:
        """Raise RefusedError where requests without a token come too often."""
        if not self._open.take():
            raise RefusedError(429, f"more than {self.limits.open_requests:g} requests a second without a token")

    def check_rate(self, client: str) -> None:
        """Raise RefusedError for a client that sends too many requests."""
        if client not in self._buckets:
            if len(self._buckets) > 10_000:
                self._buckets.clear()
            self._buckets[client] = Bucket(self.limits.requests, self.limits.burst)
        if not self._buckets[client].take():
            raise RefusedError(429, f"more than {self.limits.requests:g} requests a second; send fewer")


def _plain(origin: str) -> str:
    try:
        parts = urlsplit(origin)
    except ValueError:  # brackets around no address
        return ""
    return f"{parts.scheme}://{parts.netloc}"


class Guard:
    """ASGI middleware that applies the gate to an application."""

    def __init__(self, app: App, gate: Gate) -> None:
        self._app, self._gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with the reason of the refusal."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        most, got = self._gate.limits.request_bytes, 0

        async def counted() -> Message:  # the length of a body may be unknown
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            _check_size(got, most)
            return message

        async def answer(message: Message) -> None:
            _check_size(got, most)  # the only answer to a body that is too long
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *_HEADERS]
            await send(message)

        try:
            self._gate.check_place(scope["headers"])
            if scope["type"] == "http":
                self._check_request(scope)
            await self._app(scope, counted, answer)
        except RefusedError as refused:
            await _refuse(scope, send, refused)

    def _check_request(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"")
        endless = bool(length) and not (length.isdigit() and len(length) < _DIGITS)
        _check_size(_ENDLESS if endless else int(length or 0), self._gate.limits.request_bytes)
        path = scope["path"]
        if not path.startswith("/api") or path in _OPEN_PATHS:
            self._gate.check_open_rate()
        else:
            kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
            self._gate.check_token(token if kind.lower() == "bearer" else "")
            if connection := scope.get("state", {}).get(CONNECTION):
                connection.authenticate()
            address, client = (scope.get("client") or ("",))[0], headers.get(b"x-airshed-client", b"")
            self._gate.check_rate(f"{address} {client[:100].decode('latin-1')}")


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise RefusedError(413, f"a request may have {most} bytes at most")


async def _refuse(scope: Scope, send: Send, refused: RefusedError) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": str(refused)[:100]})
        return
    body = json.dumps({"error": "RefusedError", "message": str(refused)}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *_HEADERS]
    headers.append((b"connection", b"close"))
    if refused.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
