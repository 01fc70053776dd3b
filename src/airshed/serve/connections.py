"""Connections of HTTP: as many as there are files for, and none that is kept open by a request that never comes."""

import asyncio
import resource
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from airshed.serve.limits import Limits


def bounded(limits: Limits) -> type[H11Protocol]:
    """Return the protocol of a server that ends connections beyond the limits.

    One more than `limits.connections`, or than half of the files that this process may open, is ended at once; one
    whose request has no whole head after `limits.head` seconds then. Neither needs a token, so strangers could else
    take all files that the model needs.
    """
    most = min(limits.connections, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)

    class Bounded(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > most:
                transport.abort()
            self._see()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._see()

        def connection_lost(self, exc: Exception | None) -> None:
            self._forget()
            super().connection_lost(exc)

        def _see(self) -> None:
            """Wait for the rest of a head, as long as that may take; uvicorn ends what is silent between requests."""
            begun = self.cycle is None or bool(self.conn.trailing_data[0])
            if self.conn.their_state is not h11.IDLE or not begun:
                self._forget()
            elif self._deadline is None:
                self._deadline = self.loop.call_later(limits.head, self.transport.abort)

        def _forget(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
            self._deadline = None

    return Bounded
