"""Commands, their log and results, frames of data, and the messages of the WebSocket."""

from typing import Annotated, Any, Literal

from pydantic import Field

from airshed.serve.types.documents import (
    Document,
    Encoding,
    Index,
    Name,
    Number,
    Patch,
    Problem,
    SessionState,
    Summary,
    Window,
)


class Step(Document):
    """Advance by steps. The reply comes when they are made."""

    kind: Literal["step"] = "step"
    steps: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class Run(Document):
    """Advance to the end of the first step at or after a time: seconds, or a text such as "6 h"; else to the end.

    wait              whether the reply comes at the end, or at once
    steps_per_second  at most, for people who watch; null for as fast as it goes
    """

    kind: Literal["run"] = "run"
    until: Number | Annotated[str, Field(max_length=100)] | None = None
    wait: bool = False
    steps_per_second: Annotated[float, Field(gt=0, le=1e6)] | None = None


class Pause(Document):
    """Stop at the end of the present step."""

    kind: Literal["pause"] = "pause"


class Restart(Document):
    """Go back to the start of the case, with its own numbers."""

    kind: Literal["restart"] = "restart"


class Set(Document):
    """Change settings of the case by their paths, and settable fields by their names: all of them, or none.

    changes  values as the case file has them; a number is in the unit of its field, and dots in the name of a field
             stand for underscores
    """

    kind: Literal["set"] = "set"
    changes: Annotated[Patch, Field(min_length=1)]


class Paint(Document):
    """Change a field in a part of the map, in its unit.

    level     of fields with levels; null for all
    window    rows and columns; polygon: [lon, lat] of its corners; one of both
    operation what happens to each cell inside: its value is set, added to, or multiplied
    """

    kind: Literal["paint"] = "paint"
    variable: Name
    value: Number
    operation: Literal["set", "add", "multiply"] = "set"
    level: Index | None = 0
    window: Window | None = None
    polygon: Annotated[list[tuple[Number, Number]], Field(min_length=3, max_length=1000)] | None = None


class Release(Document):
    """An accidental release: a rate of a species at a place and height [m], from now for `duration` [s].

    unit  of the rate; species whose composition the mechanism does not tell have no mass
    """

    kind: Literal["release"] = "release"
    species: Name
    lon: Annotated[float, Field(ge=-720, le=720)]
    lat: Annotated[float, Field(ge=-90, le=90)]
    height: Annotated[float, Field(ge=0, le=50_000)] = 10.0
    rate: Annotated[float, Field(gt=0, le=1e9)]
    unit: Literal["kg/s", "mol/s"] = "kg/s"
    duration: Annotated[float, Field(gt=0, le=1e9)]


class Snapshot(Document):
    """Keep the state under a name of the server's choice."""

    kind: Literal["snapshot"] = "snapshot"
    text: Annotated[str, Field(max_length=200)] = ""


class Forget(Document):
    """Forget a snapshot."""

    kind: Literal["forget"] = "forget"
    snapshot: Name


class Restore(Document):
    """Go back, or forward, to a snapshot."""

    kind: Literal["restore"] = "restore"
    snapshot: Name


class Branch(Document):
    """Open a session that goes on from a snapshot, or from now, with changes as of `set`."""

    kind: Literal["branch"] = "branch"
    snapshot: Name | None = None
    changes: Patch = {}


class Replay(Document):
    """Make the whole run again from its log, beside this one, and compare the states bit by bit."""

    kind: Literal["replay"] = "replay"


Command = Annotated[
    Step | Run | Pause | Restart | Set | Paint | Release | Snapshot | Forget | Restore | Branch | Replay,
    Field(discriminator="kind"),
]


class SnapshotInfo(Document):
    """A snapshot that is kept."""

    snapshot: str
    text: str
    step: int
    seconds: float
    time: str
    bytes: int


class LogEntry(Document):
    """A command as it took effect: at the end of `step`, by `author`."""

    number: int
    step: int
    seconds: float
    author: str
    command: dict[str, Any]


class ReplayResult(Document):
    """Whether a replay ended in the same bits; `differs` names arrays that do not."""

    equal: bool
    step: int
    differs: list[str] = []


class Result(Document):
    """What a command gave: always the state after it, and what it made."""

    state: SessionState
    snapshot: SnapshotInfo | None = None
    branch: SessionState | None = None
    replay: ReplayResult | None = None


class FrameHeader(Document):
    """The header of a binary frame, see docs/serve.md."""

    variable: str
    unit: str
    dims: list[str]
    shape: list[int]
    dtype: Literal["<f4", "|u1"]
    encoding: Encoding
    range: tuple[float, float] | None
    missing: Literal["NaN"] | int
    compression: Literal["gzip"] | None
    length: int
    session: str
    version: int
    step: int
    seconds: float
    time: str
    level: int | None
    window: Window | None
    stride: int
    less: str | None = None
    subscription: str | None = None
    dropped: int = 0


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
