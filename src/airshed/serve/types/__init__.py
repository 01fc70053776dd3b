"""What server and clients say to each other: every document, command and message, as one set of types.

OpenAPI and the types of the browser are made from these. Times are seconds since the start of the case; `time` is UTC
in ISO 8601.

    base      what all of them are made of
    sessions  the server, its sessions, who controls them
    model     what a session's model is
    commands  what a client may command, and what that gave
    live      frames, and the messages of the WebSocket
"""

from airshed.serve.types.base import (
    PROTOCOL,
    Document,
    Encoding,
    Index,
    Name,
    Number,
    Patch,
    Problem,
    Value,
    Window,
    first_wrong,
)
from airshed.serve.types.commands import (
    Branch,
    Command,
    Forget,
    LogEntry,
    Paint,
    Pause,
    Release,
    Replay,
    ReplayResult,
    Restart,
    Restore,
    Result,
    Run,
    Set,
    Snapshot,
    SnapshotInfo,
    Step,
)
from airshed.serve.types.live import (
    Budgets,
    ClientMessage,
    Commanding,
    Event,
    FrameHeader,
    Hello,
    Reply,
    ServerMessage,
    Subscribe,
    SubscribeBudgets,
    Subscription,
    Unsubscribe,
    UnsubscribeBudgets,
)
from airshed.serve.types.model import (
    City,
    Coordinate,
    GridInfo,
    ModelInfo,
    Summary,
    SummaryTable,
    Timing,
    Variable,
)
from airshed.serve.types.sessions import AskControl, CaseEntry, Control, OpenSession, ServerInfo, SessionState, Status

__all__ = [
    "PROTOCOL", "AskControl", "Branch", "Budgets", "CaseEntry", "City", "ClientMessage", "Command", "Commanding",
    "Control", "Coordinate", "Document", "Encoding", "Event", "Forget", "FrameHeader", "GridInfo", "Hello", "Index",
    "LogEntry", "ModelInfo", "Name", "Number", "OpenSession", "Paint", "Patch", "Pause", "Problem", "Release", "Replay",
    "ReplayResult", "Reply", "Restart", "Restore", "Result", "Run", "ServerInfo", "ServerMessage", "SessionState",
    "Set", "Snapshot", "SnapshotInfo", "Status", "Step", "Subscribe", "SubscribeBudgets",
    "Subscription", "Summary", "SummaryTable", "Timing", "Unsubscribe", "UnsubscribeBudgets", "Value", "Variable",
    "Window", "first_wrong",
]  # fmt: skip
