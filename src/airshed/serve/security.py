"""Who may ask: the token, the origin and the host of requests, their size and their number."""

import hmac
import json
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from airshed.serve.connections import CONNECTION
from airshed.serve.limits import Limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

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


class RefusedError(Exception):
    """A request that is not answered, with the status of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Bucket:
    """So many requests a second, and `burst` at once."""

    rate: float
    burst: float
    clock: Callable[[], float] = time.monotonic
    _left: float = field(init=False)
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        self._left, self._at = self.burst, self.clock()

    def take(self) -> bool:
        """Return whether another request may come now."""
        now = self.clock()
        self._left = min(self.burst, self._left + (now - self._at) * self.rate)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


@dataclass
class Gate:
    """What is asked of every request.

    hosts    names by which the server may be called, with the port: a page of another name that resolves to this
             machine must not reach it
    origins  of pages that may ask; a request of a program has none
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
        """Return the gate of a server on this machine; `names` and `origins` of a proxy in front of it come to that."""
        here = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
        pages = [f"{scheme}://{host}" for scheme in ("http", "https") for host in here]
        return cls(token, frozenset([*here, *names]), frozenset([*pages, *origins]), limits)

    def check_place(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Raise RefusedError for a host or an origin that is not among those allowed."""
        found = {name.lower(): value.decode("latin-1") for name, value in headers}
        if found.get(b"host", "") not in self.hosts:
            raise RefusedError(403, "this server is called by another name than those that it answers to")
        origin = found.get(b"origin")
        if origin is not None and _plain(origin) not in self.origins:
            raise RefusedError(403, "a page of another origin may not ask")

    def check_token(self, given: str) -> None:
        """Raise RefusedError for a wrong token; the time that takes tells nothing of the right one."""
        if not hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self.token.encode()):
            if not self._wrong.take():
                raise RefusedError(429, "too many wrong tokens; wait a minute")
            raise RefusedError(
                401, "the token is missing or wrong; it stands behind #token= in the address that was printed"
            )

    def check_open_rate(self) -> None:
        """Raise RefusedError where requests that need no token come too often."""
        if not self._open.take():
            raise RefusedError(429, f"more than {self.limits.open_requests:g} requests a second without a token")

    def check_rate(self, client: str) -> None:
        """Raise RefusedError for a client that asks too often."""
        if client not in self._buckets:
            if len(self._buckets) > 10_000:
                self._buckets.clear()
            self._buckets[client] = Bucket(self.limits.requests, self.limits.burst)
        if not self._buckets[client].take():
            raise RefusedError(429, f"more than {self.limits.requests:g} requests a second; ask less often")


def _plain(origin: str) -> str:
    try:
        parts = urlsplit(origin)
    except ValueError:  # brackets around no address
        return ""
    return f"{parts.scheme}://{parts.netloc}"


class Guard:
    """The gate in front of an application: ASGI."""

    def __init__(self, app: App, gate: Gate) -> None:
        self._app, self._gate = app, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it with what is wrong."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        answer = send
        try:
            self._gate.check_place(scope["headers"])
            if scope["type"] == "http":
                self._check_request(scope)
                receive, answer = _bounded(receive, send, self._gate.limits.request_bytes)
            await self._app(scope, receive, _with_headers(answer))
        except RefusedError as refused:
            await _refuse(scope, send, refused)

    def _check_request(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        if _length(headers.get(b"content-length", b"")) > self._gate.limits.request_bytes:
            raise RefusedError(413, f"a request may have {self._gate.limits.request_bytes} bytes at most")
        path = scope["path"]
        if not path.startswith("/api") or path in _OPEN_PATHS:
            self._gate.check_open_rate()
        else:
            kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
            self._gate.check_token(token if kind.lower() == "bearer" else "")
            if connection := scope.get("state", {}).get(CONNECTION):
                connection.recognise()
            address, client = (scope.get("client") or ("",))[0], headers.get(b"x-airshed-client", b"")
            self._gate.check_rate(f"{address} {client[:100].decode('latin-1')}")


def _length(text: bytes) -> int:
    """Return the length of a body that a header tells; of more digits than any body has it is endless."""
    return int(text) if text.isdigit() and len(text) < _DIGITS else (_ENDLESS if text else 0)


def _bounded(receive: Receive, send: Send, most: int) -> tuple[Receive, Send]:
    """Count what a body of unknown length brings; of one that is too long no other answer goes out."""
    got = 0

    def check() -> None:
        if got > most:
            raise RefusedError(413, f"a request may have {most} bytes at most")

    async def counted() -> Message:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        check()
        return message

    async def sending(message: Message) -> None:
        check()
        await send(message)

    return counted, sending


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *_HEADERS]
        await send(message)

    return sending


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
