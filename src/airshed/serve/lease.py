"""Who may command: one client at a time, for as long as it does."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from airshed.core.errors import AirshedError
from airshed.serve import types


class ControlledError(AirshedError):
    """Somebody else controls the session."""


@dataclass(frozen=True)
class Client:
    """Who asks: `identity` is a secret that the client chose, `author` a name for people."""

    identity: str
    author: str


@dataclass
class Lease:
    """Control of a session: the first to command has it, until it gives it up or is silent for `length` seconds."""

    length: float
    clock: Callable[[], float] = time.monotonic
    holder: Client | None = None
    asking: Client | None = None
    _until: float = 0.0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def command(self, client: Client) -> None:
        """Note a command of a client, which renews its lease; raises ControlledError where another one has it."""
        with self._lock:
            self._command(client)

    def _command(self, client: Client) -> None:
        holder = self.held_by()
        if holder is not None and holder.identity != client.identity:
            left = self._until - self.clock()
            raise ControlledError(
                f"{holder.author} controls this session for another {left:.0f} s at most; ask for control, or watch"
            )
        self._take(client)

    def ask(self, client: Client, *, ask: bool = False) -> types.Control:
        """Take control if it is free; if not, and with `ask`, tell the holder, who may give it up."""
        with self._lock:
            holder = self.held_by()
            if holder is None or holder.identity == client.identity:
                self._take(client)
            elif ask:
                self.asking = client
            return self.told(client)

    def give_up(self, client: Client) -> types.Control:
        """Give control up, to the one who asked for it if anybody did."""
        with self._lock:
            holder = self.held_by()
            if holder is not None and holder.identity == client.identity:
                self._free()
            return self.told(client)

    def held_by(self) -> Client | None:
        """Return who has control now."""
        with self._lock:
            if self.holder is not None and self.clock() > self._until:
                self._free()
            return self.holder

    def _free(self) -> None:
        self.holder = None
        if self.asking is not None:
            self._take(self.asking)

    def told(self, client: Client) -> types.Control:
        """Return what a client is told."""
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
