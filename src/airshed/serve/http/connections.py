"""HTTP connections: limited in number and duration, so that clients without a token cannot block the owner.

A connection is unauthenticated until one of its requests has brought the token. Such connections could use up all
files that the model needs, or all connections. Each of them is short, and where there are too many, the one that has
been silent longest ends.
"""

import asyncio
import resource
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import h11
from fastapi import WebSocket
from uvicorn.protocols.http.h11_impl import H11Protocol

from airshed.serve.access.gate import CONNECTION
from airshed.serve.access.limits import Limits


class _BoundedConnection(H11Protocol):
    """An HTTP connection that ends where it exceeds `limits`.

    There are at most `limits.connections`, or half of the files that this process may open. Unauthenticated connections
    get at most three quarters of them.
    """

    limits: ClassVar[Limits]
    is_authenticated = False
    _deadline: asyncio.TimerHandle | None = None
    _lifetime: asyncio.TimerHandle | None = None
    _writing: asyncio.TimerHandle | None = None
    _requests = 0

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.app_state = {**self.app_state, CONNECTION: self}
        self.timeout_keep_alive = self.limits.unauthenticated_silence

    def authenticate(self) -> None:
        """Mark the connection as authenticated after a request with the token: it may stay open."""
        self.is_authenticated = True
        self.timeout_keep_alive = self.limits.silence
        self._cancel(self._lifetime)

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.last = self.loop.time()
        self._lifetime = self.loop.call_later(self.limits.unauthenticated, self._end_unauthenticated)
        self._enforce_limits()
        self._watch_header()

    def data_received(self, data: bytes) -> None:
        self.last = self.loop.time()
        super().data_received(data)
        self._watch_header()

    def on_response_complete(self) -> None:
        self._requests += 1
        super().on_response_complete()
        if not self.is_authenticated and self._requests >= self.limits.unauthenticated_requests:
            self._end_unauthenticated()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._writing is None:
            self._writing = self.loop.call_later(self.limits.writing, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel(self._writing)
        self._writing = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel(self._deadline, self._lifetime, self._writing)
        super().connection_lost(exc)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._cancel(self._deadline, self._lifetime)
        super().handle_websocket_upgrade(event)

    def _enforce_limits(self) -> None:
        """End the unauthenticated connection that is silent longest where there are too many; else the new one."""
        most = min(self.limits.connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        allowed = max(most - most // 4, 1)
        others = [
            each for each in self.connections if isinstance(each, _BoundedConnection) and not each.is_authenticated
        ]
        if len(self.connections) > most or len(others) > allowed:
            oldest = min((each for each in others if each is not self), key=lambda each: each.last, default=self)
            oldest.transport.abort()
            self.connections.discard(oldest)

    @staticmethod
    def _cancel(*timers: asyncio.TimerHandle | None) -> None:
        for timer in filter(None, timers):
            timer.cancel()

    def _end_unauthenticated(self) -> None:
        if not self.is_authenticated:
            self.transport.abort()

    def _watch_header(self) -> None:
        """Start the timer for the rest of a header; uvicorn ends connections that are silent between requests."""
        begun = self.cycle is None or bool(self.conn.trailing_data[0])
        if self.conn.their_state is not h11.IDLE or not begun:
            self._cancel(self._deadline)
            self._deadline = None
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.limits.head, self.transport.abort)


def bounded(limits: Limits) -> type[H11Protocol]:
    """Return the protocol class of a server with these limits of connections."""
    return type("_BoundedConnection", (_BoundedConnection,), {"limits": limits})


HELLO_TIMEOUT: Final = 5.0
"""Seconds for a client to send its hello."""

MOST_PENDING: Final = 32
"""Most clients that have not yet sent their hello."""


@dataclass
class PendingSockets:
    """WebSockets of a server that have not yet received their first message.

    _clocks  timeouts of these, in the order of their arrival
    """

    _clocks: deque[asyncio.Timeout] = field(default_factory=deque)

    async def first(self, socket: WebSocket) -> str:
        """Return the first message of a WebSocket; raises TimeoutError where none comes, or too many others wait."""
        async with asyncio.timeout(HELLO_TIMEOUT) as clock:
            self._clocks.append(clock)
            if len(self._clocks) > MOST_PENDING:
                self._clocks.popleft().reschedule(asyncio.get_running_loop().time())
            try:
                return await socket.receive_text()
            finally:
                with suppress(ValueError):
                    self._clocks.remove(clock)
