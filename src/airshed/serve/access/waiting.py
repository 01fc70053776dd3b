"""Requests for access by clients without a token, which a client with control answers.

Every program that reaches the server can send them. They are few, short-lived and limited in rate, and they allow
nothing by themselves. Each has a number that both sides see, because a name alone proves nothing.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from airshed.serve.access.limits import Bucket
from airshed.serve.access.people import plain_name
from airshed.serve.access.tokens import Tokens, new_token
from airshed.serve.protocol import access
from airshed.serve.protocol.errors import NotThereError, TooManyError

_MOST, _MOST_OF_ADDRESS = 8, 3
_LIFETIME: Final = 600.0
"""Seconds after which a request, and the answer to it, are deleted."""

_RATE, _BURST = 0.2, 6.0
"""Requests per second, and largest burst, of all clients together."""

_PAUSE: Final = 3600.0
"""Seconds without further requests, after all have been refused."""


@dataclass
class _Request:
    """A request for access, from an address, until a time."""

    public: access.AccessRequest
    ticket: str
    until: float
    answer: access.AccessAnswer | None = None


@dataclass
class AccessRequests:
    """The requests for access to a server.

    on_change  is called when the waiting requests have changed
    """

    tokens: Tokens
    clock: Callable[[], float] = time.monotonic
    on_change: Callable[[], None] = lambda: None
    _requests: list[_Request] = field(default_factory=list)
    _bucket: Bucket = field(init=False)
    _closed_until: float = 0.0

    def __post_init__(self) -> None:
        self._bucket = Bucket(_RATE, _BURST, self.clock)

    def ask(self, name: str, role: access.Role, address: str) -> access.AccessTicket:
        """Add a request, and return the ticket that fetches its answer; raises TooManyError where others wait."""
        waiting = self._waiting()
        if self.clock() < self._closed_until:
            raise TooManyError("the owner accepts no requests for access now; ask in another way")
        if len(waiting) >= _MOST or sum(each.public.address == address for each in waiting) >= _MOST_OF_ADDRESS:
            raise TooManyError("too many requests for access are waiting; try again in ten minutes")
        if not self._bucket.take():
            raise TooManyError("too many requests for access; try again in a minute")
        taken = {each.public.number for each in self._requests}
        number = next(each for each in iter(lambda: 1000 + secrets.randbelow(9000), None) if each not in taken)
        public = access.AccessRequest(number=number, name=plain_name(name) or "Guest", role=role, address=address)
        self._requests.append(_Request(public, new_token(), self.clock() + _LIFETIME))
        self.on_change()
        return access.AccessTicket(ticket=self._requests[-1].ticket, number=number)

    def answer_to(self, ticket: str) -> access.AccessAnswer:
        """Return the answer to the request of a ticket."""
        self._forget_old()
        for each in self._requests:
            if secrets.compare_digest(each.ticket.encode(), ticket.encode("utf-8", "surrogatepass")):
                return each.answer or access.AccessAnswer(status="waiting")
        return access.AccessAnswer(status="unknown")

    def waiting(self) -> list[access.AccessRequest]:
        """Return the requests without an answer, in the order of their arrival."""
        return [each.public for each in self._waiting()]

    def decide(self, number: int, role: access.Role | None) -> None:
        """Grant a role to a request, or refuse it with None; raises NotThereError for an unknown number."""
        found = next((each for each in self._waiting() if each.public.number == number), None)
        if found is None:
            raise NotThereError(f"no request for access has the number {number}; it may have expired")
        self._answer(found, role)
        self.on_change()

    def refuse_all(self) -> None:
        """Refuse all requests, and accept none for an hour."""
        self._closed_until = self.clock() + _PAUSE
        for each in self._waiting():
            self._answer(each, None)
        self.on_change()

    def _answer(self, request: _Request, role: access.Role | None) -> None:
        if role is None:
            request.answer = access.AccessAnswer(status="refused")
        else:
            token = self.tokens.grant(role, request.public.name)
            request.answer = access.AccessAnswer(status="granted", role=role, token=token)

    def _waiting(self) -> list[_Request]:
        self._forget_old()
        return [each for each in self._requests if each.answer is None]

    def _forget_old(self) -> None:
        self._requests = [each for each in self._requests if self.clock() < each.until]
