"""What a client may command, the log of it, and what it gave."""

from typing import Annotated, Any, Literal

from pydantic import Field

from airshed.serve.types.base import Document, Index, Name, Number, Patch, Window
from airshed.serve.types.sessions import SessionState


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
