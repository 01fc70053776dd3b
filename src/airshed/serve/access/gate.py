"""Checks of the token, role, host, origin, size and rate of each request."""

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from airshed.serve.access.limits import Bucket, Limits, RefusedError
from airshed.serve.access.tokens import Tokens
from airshed.serve.protocol.access import Role

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CONNECTION: Final = "connection"
"""Key of the connection in the state of a request."""

role_of_request: ContextVar[Role] = ContextVar("role_of_request", default="watch")
"""Role of the token of the request or WebSocket that is handled."""

READ_ONLY: Final = (
    "this link allows to watch, not to change anything; ask for control, or ask the owner for another link"
)

_OPEN_PATHS: Final = ("/api/openapi.json",)
_ASKING_PATHS: Final = ("/api/access/request", "/api/access/answer")
_ASKING_BYTES: Final = 1000
_READING: Final = ("GET", "HEAD")
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


@dataclass
class Gate:
    """Checks of every request.

    hosts    host names of the server, with the port; others are refused, against DNS rebinding by a web page
    origins  of pages that may send requests; a request of a program has no origin
    """

    tokens: Tokens
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
        cls, tokens: Tokens, port: int, limits: Limits, names: Iterable[str] = (), origins: Iterable[str] = ()
    ) -> "Gate":
        """Return the gate of a server on this machine, with further `names` and `origins` of a proxy in front of it."""
        here = [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]
        pages = [f"{scheme}://{host}" for scheme in ("http", "https") for host in here]
        return cls(tokens, frozenset([*here, *names]), frozenset([*pages, *origins]), limits)

    def check_place(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Raise RefusedError for a host or an origin that is not allowed."""
        found = {name.lower(): value.decode("latin-1") for name, value in headers}
        if found.get(b"host", "") not in self.hosts:
            raise RefusedError(403, "the server does not accept this host name; add it with --known-as")
        origin = found.get(b"origin")
        if origin is not None and _plain(origin) not in self.origins:
            raise RefusedError(403, "pages of another origin may not send requests")

    def check_token(self, given: str) -> Role:
        """Return the role of a token; raises RefusedError for a wrong one."""
        role = self.tokens.role_of(given)
        if role is not None:
            return role
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
        most, got = self._longest(scope), 0

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

    def _longest(self, scope: Scope) -> int:
        return _ASKING_BYTES if scope["path"] in _ASKING_PATHS else self._gate.limits.request_bytes

    def _check_request(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"")
        endless = bool(length) and not (length.isdigit() and len(length) < _DIGITS)
        path = scope["path"]
        _check_size(_ENDLESS if endless else int(length or 0), self._longest(scope))
        if not path.startswith("/api") or path in (*_OPEN_PATHS, *_ASKING_PATHS):
            self._gate.check_open_rate()
        else:
            kind, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
            role = self._gate.check_token(token if kind.lower() == "bearer" else "")
            role_of_request.set(role)
            if connection := scope.get("state", {}).get(CONNECTION):
                connection.authenticate()
            address, client = (scope.get("client") or ("",))[0], headers.get(b"x-airshed-client", b"")
            self._gate.check_rate(f"{address} {client[:100].decode('latin-1')}")
            if role == "watch" and scope["method"] not in _READING:
                raise RefusedError(403, READ_ONLY)


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
