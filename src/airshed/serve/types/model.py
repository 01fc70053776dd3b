"""What a session's model is: its variables, its grid, its settings, and what happened in it so far."""

from typing import Any, Literal

from airshed.serve.types.base import PROTOCOL, Document
from airshed.serve.types.sessions import SessionState


class Variable(Document):
    """A field of the model.

    dims      as data have them: ("level", "lat", "lon"), ("lat", "lon"), ("cell",), or () for a number
    valid     the least and the greatest value that mean anything
    when      it can be set, of a settable one: what is set while a step is made waits for its end
    value     of a settable number: what it is now
    group     of a settable number: the process that it belongs to; else what kind of field it is
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


class Coordinate(Document):
    """Places along a dimension, or of each packed cell; bounds are [low, high] of each."""

    name: str
    dim: str
    unit: str
    text: str
    values: list[float]
    bounds: list[tuple[float, float]] | None = None


class GridInfo(Document):
    """Where cells lie.

    kind    "lonlat": fields end in (lat, lon). "packed": cells of a map of which only some are computed; data come as
            that map, (lat, lon), with missing values elsewhere. "plain": no map
    rows, columns   of the map, from south to north and from west to east
    """

    kind: Literal["lonlat", "packed", "plain"]
    rows: int = 0
    columns: int = 0
    coordinates: list[Coordinate]
    levels: list[float] = []


class City(Document):
    """A city within the map."""

    name: str
    lon: float
    lat: float
    population: int


class Timing(Document):
    """Wall time [s] of a part of all steps so far."""

    part: str
    seconds: float


class ModelInfo(Document):
    """The model of a session: variables, grid, clock, processes, settings, capabilities.

    settings  JSON Schema of the case: `x-effect` says what a change does ("in place", "rebuild"), absent where the
              setting is fixed or without effect; `x-unit`, `x-range` and, of tables, `x-keys` describe its values
    values    the settings of now, as nested tables
    shown     variables that a client shows first, as far as the model has them
    air       the variable with the amount of air [mol m-3], by which mixing ratios become masses
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
    capabilities: list[str]
    attributes: dict[str, str] = {}


class SummaryTable(Document):
    """A table of a summary; a column's unit is part of its name."""

    title: str
    columns: list[str]
    rows: list[list[str | float | bool | None]]
    note: str = ""


class Summary(Document):
    """What happened so far, as at the end of a run: budgets, extremes, input, where the time went."""

    state: SessionState
    facts: dict[str, str | float | bool | None]
    tables: list[SummaryTable]
