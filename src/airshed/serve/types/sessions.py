"""The server, its sessions, the cases that they can be of, and who controls them."""

from typing import Annotated, Literal

from pydantic import Field

from airshed.serve.types.base import PROTOCOL, Document, Name, Patch

Status = Literal["paused", "running", "ended", "failed"]


class SessionState(Document):
    """Where a session stands. `version` grows with every change of the state; data carry it too.

    target      the time [s] that it runs to; null when paused
    controller  who may command; null if anybody may
    asking      who asks to take over
    replayed    the step that a replay has reached; null where none is under way
    """

    session: str
    title: str
    model: str
    case: str
    status: Status
    step: int
    seconds: float
    time: str
    begin: float
    end: float
    target: float | None = None
    version: int = 0
    steps_per_second: float | None = None
    log_entries: int = 0
    controller: str | None = None
    asking: str | None = None
    parent: str | None = None
    error: str | None = None
    replayed: int | None = None


class ServerInfo(Document):
    """The server and its sessions."""

    protocol: int = PROTOCOL
    version: str
    sessions: list[SessionState]
    limits: dict[str, float]


class CaseEntry(Document):
    """A case of the catalogue."""

    name: str
    title: str
    description: str
    model: str


class OpenSession(Document):
    """A session to open: a case of the catalogue by its name, or the text of a case file; and changed settings."""

    case: Name | None = None
    toml: Annotated[str, Field(max_length=200_000)] | None = None
    changes: Patch = {}


class AskControl(Document):
    """Ask for control, which others then have not; `ask` tells a present controller of it."""

    ask: bool = False


class Control(Document):
    """Who controls: `yours` says whether it is you; the lease ends `expires` seconds from now unless renewed."""

    controller: str | None
    yours: bool
    expires: float | None = None
    asking: str | None = None
