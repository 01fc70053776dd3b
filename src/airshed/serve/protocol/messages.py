"""Messages of the WebSocket, from clients and from the server."""

from typing import Annotated, Literal

from pydantic import Field

from airshed.serve.protocol.access import AccessRequest, Person, Role
from airshed.serve.protocol.types import Command, Document, LogEntry, Moment, Problem, Result, SessionState, Summary
from airshed.serve.protocol.values import Encoding, Index, Name, Number, Window


class Subscription(Document):
    """Repeated delivery of a field.

    id      of its frames; replaces an earlier subscription with the same id
    every   versions from one frame to the next;  hz: most frames per second
    since   the version that the client already has, after a reconnection
    less    another session, whose values are subtracted; the difference is sent when either session changes
    """

    id: Name
    session: Name = "main"
    variable: Name
    level: Index | None = None
    window: Window | None = None
    stride: Annotated[int, Field(ge=1, le=10_000)] = 1
    encoding: Encoding = "float32"
    range: tuple[Number, Number] | None = None
    compress: bool = False
    every: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    hz: Annotated[float, Field(gt=0, le=60)] = 20.0
    since: int | None = None
    less: Name | None = None


class Hello(Document):
    """Client: the first message on the WebSocket."""

    token: Annotated[str, Field(max_length=200)]
    client: Annotated[str, Field(max_length=100)] = ""
    author: Annotated[str, Field(max_length=100)] = "anonymous"


class ChooseName(Document):
    """Client: choose another name; an event `named` follows with the one that it gets."""

    rename: Annotated[str, Field(max_length=100)]


class Subscribe(Document):
    """Client: begin a subscription."""

    subscribe: Subscription


class Unsubscribe(Document):
    """Client: end a subscription."""

    unsubscribe: Name


class Budgets(Document):
    """Repeated delivery of summaries of a session, when its state has changed, at most one every `every` seconds."""

    session: Name = "main"
    every: Annotated[float, Field(ge=0.1, le=86_400)] = 2.0


class SubscribeBudgets(Document):
    """Client: begin to receive summaries of a session; replaces an earlier request for the same session."""

    subscribe_budgets: Budgets


class UnsubscribeBudgets(Document):
    """Client: stop receiving summaries of a session."""

    unsubscribe_budgets: Name


class CommandMessage(Document):
    """Client: a command to a session; the reply has the same `id`."""

    command: Command
    session: Name = "main"
    id: int


ClientMessage = Subscribe | Unsubscribe | SubscribeBudgets | UnsubscribeBudgets | ChooseName | CommandMessage


class Reply(Document):
    """Server: the result of a command or a subscription."""

    reply: int | str
    ok: bool
    result: Result | None = None
    problem: Problem | None = None


class Event(Document):
    """Server: an event. hello | state | log | budget | control | record | opening | opened | closed | problem | ...

    `state` is present in hello (one for each session), state, opened and control; `entry` in log; `summary` in
    budget; `moment` in record, when the fields of a time have been recorded; `stage` in opening: the step of the set-up
    of a session in words, empty when the set-up has ended; `people` in people, when a client comes, goes or changes its
    name; `author` and `role` of this client in named; `waiting` in access, for clients with control.
    """

    event: Literal[
        "hello", "state", "log", "budget", "control", "record", "opening", "opened", "closed", "problem", "people",
        "named", "access",
    ]  # fmt: skip
    session: str | None = None
    state: SessionState | None = None
    entry: LogEntry | None = None
    summary: Summary | None = None
    moment: Moment | None = None
    stage: str | None = None
    problem: Problem | None = None
    client: str | None = None
    protocol: int | None = None
    author: str | None = None
    role: Role | None = None
    people: list[Person] | None = None
    waiting: list[AccessRequest] | None = None


ServerMessage = Reply | Event
