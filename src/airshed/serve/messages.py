"""Messages of the WebSocket, from clients and from the server."""

from typing import Annotated, Literal

from pydantic import Field

from airshed.serve.types import (
    Command,
    Document,
    Encoding,
    Index,
    LogEntry,
    Name,
    Number,
    Problem,
    Result,
    SessionState,
    Summary,
    Window,
)


class Subscription(Document):
    """Data that are to come again and again.

    id      under which its frames come; an earlier one of the same id is replaced
    every   versions from one frame to the next;  hz: frames a second at most
    since   the version that the client has already, after a reconnection
    less    another session, whose values are taken off: the difference comes whenever either changes
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
    """The first message of a client on the WebSocket."""

    token: Annotated[str, Field(max_length=200)]
    client: Annotated[str, Field(max_length=100)] = ""
    author: Annotated[str, Field(max_length=100)] = "anonymous"


class Subscribe(Document):
    """Client: begin a subscription."""

    subscribe: Subscription


class Unsubscribe(Document):
    """Client: end a subscription."""

    unsubscribe: Name


class Budgets(Document):
    """Summaries of a session that are to come: at most one in `every` seconds, where the state is another one."""

    session: Name = "main"
    every: Annotated[float, Field(ge=0.1, le=86_400)] = 2.0


class SubscribeBudgets(Document):
    """Client: begin to get summaries of a session; an earlier one of the same session is replaced."""

    subscribe_budgets: Budgets


class UnsubscribeBudgets(Document):
    """Client: get no more summaries of a session."""

    unsubscribe_budgets: Name


class Commanding(Document):
    """Client: a command to a session; `id` comes back with the reply."""

    command: Command
    session: Name = "main"
    id: int


ClientMessage = Subscribe | Unsubscribe | SubscribeBudgets | UnsubscribeBudgets | Commanding


class Reply(Document):
    """Server: what became of a command or a subscription."""

    reply: int | str
    ok: bool
    result: Result | None = None
    problem: Problem | None = None


class Event(Document):
    """Server: something happened. hello | state | log | budget | control | opened | closed | problem.

    `state` comes with hello (once for each session), state, opened and control; `entry` with log; `summary` with
    budget.
    """

    event: Literal["hello", "state", "log", "budget", "control", "opened", "closed", "problem"]
    session: str | None = None
    state: SessionState | None = None
    entry: LogEntry | None = None
    summary: Summary | None = None
    problem: Problem | None = None
    client: str | None = None
    protocol: int | None = None


ServerMessage = Reply | Event
