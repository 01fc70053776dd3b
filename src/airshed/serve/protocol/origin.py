"""Documents of origins: the request, the state of its computation, and the contributions of all sources."""

from typing import Annotated, Literal

from pydantic import Field

from airshed.serve.protocol.types import Document
from airshed.serve.protocol.values import Index, Name, Number


class OriginRequest(Document):
    """Request for the sources of a concentration.

    species, level  of the concentration
    place           city of 100 000 people, or longitude and latitude
    at              time [s] since the start of the case
    name            of the place, for display
    """

    species: Name
    place: Name | tuple[Annotated[float, Field(ge=-720, le=720)], Annotated[float, Field(ge=-90, le=90)]]
    at: Number
    level: Index = 0
    name: Annotated[str, Field(max_length=200)] = ""


Kind = Literal["emission", "side", "top", "initial", "deposition"]


class OriginRow(Document):
    """Contribution of a source to the concentration [mol/mol]: present amount times sensitivity.

    source     emission: "inventory", "vegetation", "gridded files" and others; side: "west" and others;
               deposition: "dry deposition" and others
    pollutant  of the inventory as reported, such as NOx; otherwise the species
    scale      key of `emissions.scale` that changes this source, empty for a source without one
    """

    kind: Kind
    source: str
    country: str = ""
    sector: str = ""
    sector_text: str = ""
    pollutant: str = ""
    value: float
    scale: str = ""


class OriginHour(Document):
    """Contribution [mol/mol] of all emission of an hour, `hours` before the concentration."""

    hours: float
    time: str
    value: float


class Origin(Document):
    """Sources of a concentration.

    value       of the adjoint's run [mol/mol]
    recorded    value of the session at that time, where it is recorded
    air         amount of air per volume at the place [mol m-3], for concentrations by mass
    pollutants  of which the emission has a map, the largest contribution first
    explained   sum of all contributions of emission, sides, top and initial air
    """

    request: OriginRequest
    place: str
    time: str
    lon: float
    lat: float
    value: float
    recorded: float | None = None
    air: float | None = None
    explained: float
    rows: list[OriginRow]
    pollutants: list[str]
    hours: list[OriginHour]
    steps: int
    seconds: float


class OriginState(Document):
    """State of the computation of an origin.

    refusal   reason why this session has no origins, or not at that time; empty otherwise
    part      of the computation that goes on, and the completed part `done` of it, 0 to 1
    elapsed   wall time since the start [s];  expected  of a whole computation
    memory    most memory that it takes [bytes]
    """

    status: Literal["none", "running", "done", "failed", "cancelled"]
    refusal: str = ""
    request: OriginRequest | None = None
    part: Literal["", "start", "forward", "backward"] = ""
    done: float = 0.0
    elapsed: float = 0.0
    expected: float | None = None
    memory: float | None = None
    message: str = ""
    result: Origin | None = None
