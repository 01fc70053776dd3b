"""Documents of the effect of a scenario: extremes, means, places, limit values and people."""

from airshed.serve.protocol.types import Document, Moment


class MissingHours(Document):
    """Hours [s] that one of two runs has not computed: after `since`, up to the last hour of the other run."""

    session: str
    since: float
    until: float


class ExtremeEffect(Document):
    """A change at one hour in one cell, with the nearest city and its distance [km]."""

    before: float
    after: float
    seconds: float
    time: str
    lon: float
    lat: float
    city: str | None = None
    distance: float | None = None


class MeanEffect(Document):
    """Means over the compared hours and an area."""

    name: str
    before: float
    after: float


class PlaceEffect(Document):
    """Means over the compared hours at a place, and its greatest change; null outside the map."""

    lon: float
    lat: float
    city: str | None = None
    distance: float | None = None
    before: float | None = None
    after: float | None = None
    greatest: ExtremeEffect | None = None


class LimitEffect(Document):
    """Hours at which the level is above a limit value [µg m-3 at 293 K and 1013 hPa] anywhere in the area.

    mean    averaging time, such as "8 h"
    people  in the cities with such an hour
    """

    name: str
    value: float
    mean: str
    source: str
    hours_before: int
    hours_after: int
    people_before: int
    people_after: int


class PeopleEffect(Document):
    """People in the largest cities of the area: those whose mean changes by more than a threshold.

    cities, people  number of the cities, and of all their people
    """

    cities: int
    people: int
    threshold: float
    less: int
    more: int


class Effect(Document):
    """Effect of a run on a field compared with another run, from the recorded hours of both.

    hours, begin, end   compared hours: from the first one at which the runs differ
    missing             hours that one of them has not computed
    decrease, increase  greatest changes; null where there is none
    """

    session: str
    other: str
    variable: str
    unit: str
    level: int | None
    hours: int
    begin: Moment
    end: Moment
    missing: MissingHours | None
    decrease: ExtremeEffect | None
    increase: ExtremeEffect | None
    domain: MeanEffect
    country: MeanEffect | None
    places: list[PlaceEffect]
    limits: list[LimitEffect]
    people: PeopleEffect
