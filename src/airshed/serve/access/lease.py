"""Control of a session, which one client has at a time."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from airshed.serve.protocol import types
from airshed.serve.protocol.errors import ControlledError


@dataclass(frozen=True)
class Client:
    """Author of requests: `identity` is a secret that the client chose, `author` a name for display."""

    identity: str
    author: str


_GRACE: Final = 5.0
"""Seconds for which a client without a connection has control: a lost connection may return."""

_PATIENCE: Final = 300.0
"""Seconds for which a request for control waits."""


@dataclass
class Lease:
    """Control of a session.

    The first client to send a command gets it, and has it until it gives it up, leaves, or sends nothing for `length`
    seconds. One client at a time waits for it.
    """

    length: float
    clock: Callable[[], float] = time.monotonic
    holder: Client | None = None
    asking: Client | None = None
    _until: float = 0.0
    _asking_until: float = 0.0
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
            elif ask and (self.asked_by() or client).identity == client.identity:
                self.asking, self._asking_until = client, self.clock() + _PATIENCE
            return self.state_for(client)

    def give_up(self, client: Client) -> types.Control:
        """Give control up, to the client that requests it if there is one."""
        with self._lock:
            holder = self.held_by()
            if holder is not None and holder.identity == client.identity:
                self._free()
            return self.state_for(client)

    def decline(self, client: Client) -> types.Control:
        """Discard the request for control, if the client has it or sent the request."""
        with self._lock:
            holder, asking = self.held_by(), self.asked_by()
            if client.identity in {each.identity for each in (holder, asking) if each is not None}:
                self.asking = None
            return self.state_for(client)

    def leave(self, identity: str) -> None:
        """End the request of a client that has left, and its control soon, unless it returns."""
        with self._lock:
            if self.asking is not None and self.asking.identity == identity:
                self.asking = None
            if self.holder is not None and self.holder.identity == identity:
                self._until = min(self._until, self.clock() + _GRACE)

    def rename(self, client: Client) -> None:
        """Use the new name of a client."""
        with self._lock:
            if self.holder is not None and self.holder.identity == client.identity:
                self.holder = client
            if self.asking is not None and self.asking.identity == client.identity:
                self.asking = client

    def asked_by(self) -> Client | None:
        """Return the client that waits for control."""
        with self._lock:
            if self.clock() > self._asking_until:
                self.asking = None
            return self.asking

    def held_by(self) -> Client | None:
        """Return the client that has control now."""
        with self._lock:
            if self.holder is not None and self.clock() > self._until:
                self._free()
            return self.holder

    def _free(self) -> None:
        self.holder = None
        if (next_one := self.asked_by()) is not None:
            self._take(next_one)

    def state_for(self, client: Client) -> types.Control:
        """Return the state of control, as sent to a client."""
        holder, asking = self.held_by(), self.asked_by()
        return types.Control(
            controller=None if holder is None else holder.author,
            yours=holder is not None and holder.identity == client.identity,
            expires=None if holder is None else round(self._until - self.clock(), 3),
            asking=None if asking is None else asking.author,
            asked=asking is not None and asking.identity == client.identity,
        )

    def _take(self, client: Client) -> None:
        self.holder, self._until = client, self.clock() + self.length
        if self.asking is not None and self.asking.identity == client.identity:
            self.asking = None
