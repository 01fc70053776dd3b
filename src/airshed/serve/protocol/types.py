"""Documents of the server and its clients: values, sessions, cases, control, models, commands, results and frames.

OpenAPI and the types of the browser are generated from these and from :mod:`airshed.serve.protocol.messages`. Times are
seconds since the start of the case; `time` is UTC in ISO 8601. A change that breaks old clients increments `PROTOCOL`.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import ErrorDetails

from airshed.serve.protocol.values import Encoding, Index, Name, Number, Patch, ScenarioName, Window

PROTOCOL: Final = 2

_SHOULD: Final = "Input should be "


class Document(BaseModel):
    """A document that a client sends or receives; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Problem(Document):
    """An error: the problem and its remedy."""

    error: str
    message: str


def first_wrong(errors: Sequence[ErrorDetails]) -> tuple[tuple[int | str, ...], str]:
    """Return the location and message of the first error; for a union of types, the messages of all its members."""
    first = errors[0]
    place = first["loc"]
    same = [each for each in errors if each["input"] is first["input"] and each["loc"][:-1] == place[:-1]]
    if len(same) == 1 or first["type"] == "missing":  # errors of missing keys share their input
        return place, first["msg"]
    messages = dict.fromkeys(each["msg"].partition(",")[0] for each in same)
    return place[:-1], _SHOULD + ", or ".join(each.removeprefix(_SHOULD) for each in messages)


Status = Literal["paused", "running", "ended", "failed"]


class SessionState(Document):
    """State of a session. `version` grows with every change of the state; data have it too.

    target      the time [s] to which it runs; null when paused
    controller  client in control; null if control is free
    `asking`    client that requests control
    replayed    the step that a replay has reached; null where none is running
    recorded    whether the session has recorded hours alone, without a model
    scenario    name of the difference from its parent, in plain words; empty for a run that did not branch off
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
    recorded: bool = False
    scenario: str = ""


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
    """A session to open: the name of a case of the catalogue, or the text of a case file; and changed settings.

    scenario  its name; made from the changes where it is empty
    """

    case: Name | None = None
    toml: Annotated[str, Field(max_length=200_000)] | None = None
    changes: Patch = {}
    scenario: ScenarioName = ""


class ControlRequest(Document):
    """Request control, which one client has at a time; `ask` notifies the present holder."""

    ask: bool = False


class Control(Document):
    """State of control: `yours` is true for the holder; the lease ends after `expires` seconds unless renewed.

    `asking`  client that requests control; `asked` is true for that client
    """

    controller: str | None
    yours: bool
    expires: float | None = None
    asking: str | None = None
    asked: bool = False


class Variable(Document):
    """A field of the model.

    dims      in data: ("level", "lat", "lon"), ("lat", "lon"), ("cell",), or () for a number
    valid     the range of meaningful values
    when      a settable variable can be set: during a step, a change waits for its end
    value     present value of a settable number
    group     process of a settable number; for fields, the kind of field
    title     name in plain words, and `formula` with subscripts
    topic     group in lists of fields, such as "Pollutants"
    keywords  further words by which a search finds the field
    """

    name: str
    unit: str
    text: str
    dims: list[str]
    shape: list[int]
    dtype: Literal["float32"] = "float32"
    fill: Literal["NaN"] = "NaN"
    valid: tuple[float | None, float | None] | None = None
    standard_name: str | None = None
    molar_mass: float | None = None
    settable: bool = False
    when: Literal["at the end of a step"] | None = None
    paintable: bool = False
    value: float | None = None
    group: str = ""
    title: str = ""
    formula: str = ""
    topic: str = ""
    keywords: str = ""


class Coordinate(Document):
    """Positions along a dimension, or of packed cells; bounds are [low, high] of each cell."""

    name: str
    dim: str
    unit: str
    text: str
    values: list[float]
    bounds: list[tuple[float, float]] | None = None


class GridInfo(Document):
    """Positions of the cells.

    kind    "lonlat": fields end in (lat, lon). "packed": some cells of a map are computed; data are sent as that map,
            (lat, lon), with missing values elsewhere. "projected": fields end in (y, x). "plain": no map
    rows, columns   of the map, from south to north and from west to east, or in the direction of y and of x
    projection      attributes of the CF grid mapping of a projected map
    """

    kind: Literal["lonlat", "packed", "projected", "plain"]
    projection: dict[str, str | float | list[float]] = {}
    rows: int = 0
    columns: int = 0
    coordinates: list[Coordinate]
    levels: list[float] = []


class GraticuleLine(Document):
    """A meridian or a parallel of a projected map [degrees], with points (x, y) in its coordinates."""

    kind: Literal["meridian", "parallel"]
    degrees: float
    points: list[tuple[float, float]]


class City(Document):
    """A city of the map or of its surroundings.

    x, y  in the coordinates of the map: longitude and latitude, or those of a projected grid
    also  another name, such as "Köln"
    """

    name: str
    also: str = ""
    lon: float
    lat: float
    x: float
    y: float
    population: int


class Timing(Document):
    """Wall time [s] of a part of all steps so far."""

    part: str
    seconds: float


class ModelInfo(Document):
    """The model of a session: variables, grid, clock, processes, settings, capabilities.

    settings  JSON Schema of the case: `x-effect` is the effect of a change ("in place", "rebuild"), absent where the
              setting is fixed or without effect; `x-unit`, `x-range` and, for tables, `x-keys` describe its values
    values    present settings, as nested tables
    shown     variables that a client shows first
    striking  time of the hour at which a page opens a recording: the greatest contrast in daylight [s]
    air       the variable with the amount of air [mol m-3], which converts mixing ratios to masses
    """

    protocol: int = PROTOCOL
    version: str
    state: SessionState
    start: str
    variables: list[Variable]
    grid: GridInfo
    species: list[str] = []
    processes: list[str] = []
    notices: list[str] = []
    timing: list[Timing] = []
    ranks: int = 1
    settings: dict[str, Any]
    values: dict[str, Any]
    shown: list[str] = []
    air: str | None = None
    striking: float | None = None
    capabilities: list[str]
    attributes: dict[str, str] = {}


class SummaryTable(Document):
    """A table of a summary; the unit of a column is part of its name."""

    title: str
    columns: list[str]
    rows: list[list[str | float | bool | None]]
    note: str = ""


class Summary(Document):
    """Summary of the run so far: budgets, extremes, input, wall time."""

    state: SessionState
    facts: dict[str, str | float | bool | None]
    tables: list[SummaryTable]


class Step(Document):
    """Advance by steps. The reply follows after the last one."""

    kind: Literal["step"] = "step"
    steps: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class Run(Document):
    """Advance to the end of the first step at or after a time: seconds, or a text such as "6 h"; by default to the end.

    wait              whether the reply follows at the end, or without delay
    steps_per_second  upper limit, for display; null for full speed
    """

    kind: Literal["run"] = "run"
    until: Number | Annotated[str, Field(max_length=100)] | None = None
    wait: bool = False
    steps_per_second: Annotated[float, Field(gt=0, le=1e6)] | None = None


class Pause(Document):
    """Stop at the end of the present step."""

    kind: Literal["pause"] = "pause"


class Restart(Document):
    """Return to the start of the case, with its initial settings."""

    kind: Literal["restart"] = "restart"


class Set(Document):
    """Change settings of the case by their paths, and settable fields by their names: all of them, or none.

    changes  values in the form of the case file; a number is in the unit of its field, and dots in the name of a field
             stand for underscores
    """

    kind: Literal["set"] = "set"
    changes: Annotated[Patch, Field(min_length=1)]


class Paint(Document):
    """Change a field in a part of the map, in its unit.

    level     of fields with levels; null for all levels
    window    rows and columns; polygon: [lon, lat] of its corners; exactly one of the two
    operation on each cell inside: set its value, add to it, or multiply it
    """

    kind: Literal["paint"] = "paint"
    variable: Name
    value: Number
    operation: Literal["set", "add", "multiply"] = "set"
    level: Index | None = 0
    window: Window | None = None
    polygon: Annotated[list[tuple[Number, Number]], Field(min_length=3, max_length=1000)] | None = None


class Release(Document):
    """An accidental release: a rate of a species at a location and height [m], from now for `duration` [s].

    unit  of the rate; a species of unknown composition has no mass
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
    """Store the state; the server chooses the name of the snapshot."""

    kind: Literal["snapshot"] = "snapshot"
    text: Annotated[str, Field(max_length=200)] = ""


class Forget(Document):
    """Delete a snapshot."""

    kind: Literal["forget"] = "forget"
    snapshot: Name


class Restore(Document):
    """Return to a snapshot, earlier or later."""

    kind: Literal["restore"] = "restore"
    snapshot: Name


class Branch(Document):
    """Open a session that continues from a snapshot, or from the present state, with changes as of `set`.

    scenario  its name; made from the changes where it is empty
    """

    kind: Literal["branch"] = "branch"
    snapshot: Name | None = None
    changes: Patch = {}
    scenario: ScenarioName = ""


class RenameScenario(Document):
    """Give a scenario another name; a name that another session has gets a number. It is not logged."""

    kind: Literal["rename"] = "rename"
    scenario: Annotated[str, Field(min_length=1, max_length=80)]


class Replay(Document):
    """Repeat the whole run from its log in a second simulation, and compare the states bit by bit."""

    kind: Literal["replay"] = "replay"


Command = Annotated[
    Step
    | Run
    | Pause
    | Restart
    | Set
    | Paint
    | Release
    | Snapshot
    | Forget
    | Restore
    | Branch
    | RenameScenario
    | Replay,
    Field(discriminator="kind"),
]


class SnapshotInfo(Document):
    """A stored snapshot.

    change  number of the change in the log before which the server stored it, for undo; null for other snapshots
    """

    snapshot: str
    text: str
    step: int
    seconds: float
    time: str
    bytes: int
    change: int | None = None


class LogEntry(Document):
    """A command that took effect at the end of `step`, and its `author`."""

    number: int
    step: int
    seconds: float
    author: str
    command: dict[str, Any]


class ReplayResult(Document):
    """Result of a replay: `equal` if it ended bitwise identical; `differs` names arrays that do not."""

    equal: bool
    step: int
    differs: list[str] = []


class Result(Document):
    """Result of a command: the state after it, and its snapshot, branch or replay."""

    state: SessionState
    snapshot: SnapshotInfo | None = None
    branch: SessionState | None = None
    replay: ReplayResult | None = None


class Moment(Document):
    """Time of a record."""

    seconds: float
    step: int
    time: str


class RecordingInfo(Document):
    """Recorded fields of a session and their times; `every` is the time between records [s]."""

    every: float
    variables: list[str]
    moments: list[Moment]


class FrameHeader(Document):
    """The header of a binary frame, see docs/how-to/serve.md."""

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
