"""WebSockets whose client has not yet said who it is: each ends after some seconds, and there are never many.

Strangers need no secret to open one. Where they are too many, the one that came first ends, so that a client with the
token always gets in: it says so at once. A connection that has said so is one of :class:`airshed.serve.live.Hub`, which
has a bound of its own.
"""

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from fastapi import WebSocket

HELLO: Final = 5.0
"""Seconds for a client to say who it is."""

MOST: Final = 32
"""Clients at most that have not yet said so."""


@dataclass
class Silent:
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
