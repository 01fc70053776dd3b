"""Connections of HTTP: as many as there are files for, none kept open by a stranger, and always a place for the owner.

A connection belongs to a stranger until one of its requests has brought the token. Strangers need no secret, so they
could else take all files that the model needs, or all places: each of their connections is short, and where they are
too many the one that has been silent longest ends.
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

from airshed.serve.access import CONNECTION, Limits


class _BoundedConnection(H11Protocol):
    """A connection of HTTP that ends where it exceeds `limits`.

    The most connections are `limits.connections`, or half of the files that this process may open; strangers have
    three quarters of them.
    """

    limits: ClassVar[Limits]
    is_known = False
    _deadline: asyncio.TimerHandle | None = None
    _lifetime: asyncio.TimerHandle | None = None
    _writing: asyncio.TimerHandle | None = None
    _requests = 0

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.app_state = {**self.app_state, CONNECTION: self}
        self.timeout_keep_alive = self.limits.stranger_silence

    def recognise(self) -> None:
        """Note that a request has brought the token: the connection may stay."""
        self.is_known = True
        self.timeout_keep_alive = self.limits.silence
        self._cancel(self._lifetime)

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.last = self.loop.time()
        self._lifetime = self.loop.call_later(self.limits.stranger, self._end_stranger)
        self._make_room()
        self._see()

    def data_received(self, data: bytes) -> None:
        self.last = self.loop.time()
        super().data_received(data)
        self._see()

    def on_response_complete(self) -> None:
        self._requests += 1
        super().on_response_complete()
        if not self.is_known and self._requests >= self.limits.stranger_requests:
            self._end_stranger()

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

    def _make_room(self) -> None:
        """End the stranger that is silent longest where there are too many; the new one where all are known."""
        most = min(self.limits.connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        strangers = max(most - most // 4, 1)
        others = [each for each in self.connections if isinstance(each, _BoundedConnection) and not each.is_known]
        if len(self.connections) > most or len(others) > strangers:
            oldest = min((each for each in others if each is not self), key=lambda each: each.last, default=self)
            oldest.transport.abort()
            self.connections.discard(oldest)

    @staticmethod
    def _cancel(*timers: asyncio.TimerHandle | None) -> None:
        for timer in filter(None, timers):
            timer.cancel()

    def _end_stranger(self) -> None:
        if not self.is_known:
            self.transport.abort()

    def _see(self) -> None:
        """Wait for the rest of a head, as long as that may take; uvicorn ends what is silent between requests."""
        begun = self.cycle is None or bool(self.conn.trailing_data[0])
        if self.conn.their_state is not h11.IDLE or not begun:
            self._cancel(self._deadline)
            self._deadline = None
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.limits.head, self.transport.abort)


def bounded(limits: Limits) -> type[H11Protocol]:
    """Return the protocol of a server whose connections have these limits."""
    return type("_BoundedConnection", (_BoundedConnection,), {"limits": limits})


HELLO: Final = 5.0
"""Seconds for a client to say who it is."""

MOST: Final = 32
"""Clients at most that have not yet said so."""


@dataclass
class SilentSockets:
    """The WebSockets of a server that wait for their first message.

    _clocks  of those that wait, in the order in which they came
    """

    _clocks: deque[asyncio.Timeout] = field(default_factory=deque)

    async def first(self, socket: WebSocket) -> str:
        """Return the first message of a WebSocket; raises TimeoutError where none comes, or too many others wait."""
        async with asyncio.timeout(HELLO) as clock:
            self._clocks.append(clock)
            if len(self._clocks) > MOST:
                self._clocks.popleft().reschedule(asyncio.get_running_loop().time())
            try:
                return await socket.receive_text()
            finally:
                with suppress(ValueError):
                    self._clocks.remove(clock)
