"""Documents about stations. Times are seconds since the start of the case; values have the unit of the observations."""

from collections.abc import Sequence

from airshed.evaluate.score_table import Group
from airshed.serve.protocol import types


class Pollutant(types.Document):
    """An observed species that the session has.

    factor  from the unit of the model's field to `unit`; for gases at 293 K and 101.3 kPa
    """

    name: str
    unit: str
    factor: float


class StationInfo(types.Document):
    """A station.

    x, y    in the coordinates of the map: longitude and latitude, or those of a projected grid
    scored  whether the pooled scores contain it
    """

    id: str
    name: str
    lon: float
    lat: float
    x: float
    y: float
    altitude: float | None
    area: str
    type: str
    network: str
    scored: bool
    pollutants: list[str]


class StationList(types.Document):
    """The stations of a session within its map and period; `problem` is the reason why there are none."""

    stations: Sequence[StationInfo] = ()
    pollutants: Sequence[Pollutant] = ()
    files: Sequence[str] = ()
    problem: str | None = None


class StationSeries(types.Document):
    """Observed and modelled means of a station over the same intervals; null where the model has no value yet."""

    station: str
    begin: list[float]
    end: list[float]
    observed: list[float]
    modelled: list[float | None]


class StationPairs(types.Document):
    """Series of a species at all stations that observe it."""

    variable: str
    unit: str
    series: list[StationSeries]


class StationScore(types.Document):
    """Scores of a group of pairs: `bias` is modelled minus observed; null where a statistic is not defined."""

    group: Group
    name: str
    scored: bool
    hours: int
    observed: float | None
    modelled: float | None
    bias: float | None
    r: float | None
    rmse: float | None


class StationScores(types.Document):
    """Scores of a species for the pairs up to a time [s]."""

    variable: str
    unit: str
    until: float
    scores: list[StationScore]
