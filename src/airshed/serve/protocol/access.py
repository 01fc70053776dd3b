"""Documents about access: roles, the people who are present, and requests for access."""

from typing import Annotated, Literal

from pydantic import Field

from airshed.serve.protocol.types import Document

Role = Literal["control", "watch"]
"""Rights of a token: all requests, or only requests that change nothing."""


class Person(Document):
    """A client with an open page or program: its name, which no other client has, and its role."""

    name: str
    role: Role


class AskAccess(Document):
    """Request access without a token: a client with control answers it."""

    name: Annotated[str, Field(max_length=100)] = ""
    role: Role = "watch"


class AccessTicket(Document):
    """A request for access that waits: `ticket` fetches its answer; clients with control see `number`."""

    ticket: str
    number: int


class AnswerRequest(Document):
    """Fetch the answer to a request for access."""

    ticket: Annotated[str, Field(max_length=200)]


class AccessAnswer(Document):
    """Answer to a request for access: a token of its own if it is granted. An expired ticket is unknown."""

    status: Literal["waiting", "granted", "refused", "unknown"]
    role: Role | None = None
    token: str | None = None


class AccessRequest(Document):
    """A request for access that waits, from an address; the client chose the name."""

    number: int
    name: str
    role: Role
    address: str


class AccessDecision(Document):
    """Answer a request for access with a role; null refuses it."""

    role: Role | None


class Access(Document):
    """Role of a client, the token for readers, and for clients with control the requests that wait."""

    role: Role
    watch: str
    waiting: list[AccessRequest]
