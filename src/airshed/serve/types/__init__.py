"""Types of every document, command and message of the server and its clients.

OpenAPI and the types of the browser are made from these. Times are seconds since the start of the case; `time` is UTC
in ISO 8601.

    documents  values, the server, its sessions, who controls them, the model of a session
    commands   commands of clients and their results, frames, messages of the WebSocket
"""

from airshed.serve.types.commands import (
    Branch,
    Budgets,
    ClientMessage,
    Command,
    Commanding,
    Event,
    Forget,
    FrameHeader,
    Hello,
    LogEntry,
    Paint,
    Pause,
    Release,
    Replay,
    ReplayResult,
    Reply,
    Restart,
    Restore,
    Result,
    Run,
    ServerMessage,
    Set,
    Snapshot,
    SnapshotInfo,
    Step,
    Subscribe,
    SubscribeBudgets,
    Subscription,
    Unsubscribe,
    UnsubscribeBudgets,
)
from airshed.serve.types.documents import (
    PROTOCOL,
    AskControl,
    CaseEntry,
    City,
    Control,
    Coordinate,
    Document,
    Encoding,
    GridInfo,
    Index,
    ModelInfo,
    Name,
    Number,
    OpenSession,
    Patch,
    Problem,
    ServerInfo,
    SessionState,
    Status,
    Summary,
    SummaryTable,
    Timing,
    Value,
    Variable,
    Window,
    first_wrong,
)

__all__ = [
    "PROTOCOL", "AskControl", "Branch", "Budgets", "CaseEntry", "City", "ClientMessage", "Command", "Commanding",
    "Control", "Coordinate", "Document", "Encoding", "Event", "Forget", "FrameHeader", "GridInfo", "Hello", "Index",
    "LogEntry", "ModelInfo", "Name", "Number", "OpenSession", "Paint", "Patch", "Pause", "Problem", "Release", "Replay",
    "ReplayResult", "Reply", "Restart", "Restore", "Result", "Run", "ServerInfo", "ServerMessage", "SessionState",
    "Set", "Snapshot", "SnapshotInfo", "Status", "Step", "Subscribe", "SubscribeBudgets",
    "Subscription", "Summary", "SummaryTable", "Timing", "Unsubscribe", "UnsubscribeBudgets", "Value", "Variable",
    "Window", "first_wrong",
]  # fmt: skip
