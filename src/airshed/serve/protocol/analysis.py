"""Documents of an assimilation: its cost, its controls, and the departures of observations before and after."""

from collections.abc import Sequence
from typing import Literal

from airshed.serve.protocol.types import Document


class AnalysisCost(Document):
    """Cost after an iteration; iteration 0 is the background."""

    iteration: int
    cost: float


class AnalysisControl(Document):
    """A control before and after, means over the parts of the day.

    kind    "map": values row by row from south to north; "regions": a value for each name; "domain": one value
    spread  standard deviation of the analysis, of a factor that of its logarithm; empty without an estimate
    """

    name: str
    text: str
    unit: str
    kind: Literal["map", "regions", "domain"]
    names: Sequence[str] = ()
    before: list[float]
    after: list[float]
    spread: Sequence[float] = ()


class AnalysisStation(Document):
    """Departures, observed minus modelled, of a station in their unit.

    before, after            root mean squares
    mean_before, mean_after  means
    """

    station: str
    species: str
    unit: str
    lon: float
    lat: float
    observations: int
    before: float
    after: float
    mean_before: float
    mean_after: float
    withheld: bool = False


class Analysis(Document):
    """An assimilation of which a session is the run before or after."""

    which: Literal["before", "after"]
    title: str
    stopped_by: str
    cost: list[AnalysisCost]
    controls: list[AnalysisControl]
    stations: list[AnalysisStation]
