"""The effect of a scenario in numbers, from the recorded hours that two runs share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Final

import numpy as np

from airshed.core.arrays import AnyArray, Array
from airshed.core.constants import EARTH_RADIUS
from airshed.observations.observation import STANDARD
from airshed.plot.geography import City, cities
from airshed.plot.scales import LIMIT_VALUES, LimitValue
from airshed.serve.fields.published import Session
from airshed.serve.protocol import types
from airshed.serve.protocol.effect import (
    Effect,
    ExtremeEffect,
    LimitEffect,
    MeanEffect,
    PeopleEffect,
    PlaceEffect,
)
from airshed.serve.scenarios.compared import Comparison, compared, in_country, missing_hours

_SHARE: Final = 0.01
"""Default threshold of a change, as a share of the mean value."""

_HOUR, _MARGIN = 3600.0, 400.0
_LENGTHS: Final = MappingProxyType({"1 h": 1, "3 h": 3, "8 h": 8, "24 h": 24})
"""Means of limit values in hours; longer ones need more than a day."""


def effect_of(
    session: Session, other: Session, name: str, level: int | None = 0, *, country: str = "",
    places: Sequence[tuple[float, float]] = (), threshold: float | None = None,
) -> Effect:  # fmt: skip
    """Return the effect of a run on a field, compared with another run.

    country    mean over a country in addition to the domain
    places     longitudes and latitudes [degrees] whose change is returned
    threshold  least change [unit of the field] of a city whose people count; by default 1 % of the mean

    Raises CaseError for fields that cannot be compared, NotThereError without a common recorded hour.
    """
    field = session.shape.variable(name)
    found = compared(session, other, name, level)
    before, after = found.means(found.valid)
    least = _SHARE * abs(before) if threshold is None else threshold
    gauge = _Gauge(found)
    return Effect(
        session=session.name, other=other.name, variable=name, unit=field.unit, level=level,
        hours=len(found.moments), begin=found.moments[0], end=found.moments[-1], missing=missing_hours(session, other),
        decrease=gauge.extreme(-1), increase=gauge.extreme(1),
        domain=MeanEffect(name="the whole area", before=before, after=after),
        country=_country_mean(found, country) if country else None,
        places=[gauge.place(lon, lat) for lon, lat in places],
        limits=[gauge.limit(each, field.molar_mass) for each in _limits(field, found)],
        people=gauge.people(least),
    )  # fmt: skip


def _country_mean(found: Comparison, country: str) -> MeanEffect | None:
    """Return the mean over the cells whose centres are in a country; None where there are none."""
    inside = in_country(found.cells, country) & found.valid
    if not inside.any():
        return None
    before, after = found.means(inside)
    return MeanEffect(name=country, before=before, after=after)


def _limits(field: types.Variable, found: Comparison) -> Iterator[LimitValue]:
    """Yield the limit values that hourly records at the ground can be compared with."""
    times = [each.seconds for each in found.moments]
    hourly = len(times) > 1 and bool((np.abs(np.diff(times) - _HOUR) < _MARGIN).all())
    if field.molar_mass is None or not hourly or found.level:
        return
    for each in LIMIT_VALUES.get(field.name, ()):
        if each.is_in_force and _LENGTHS.get(each.mean, len(times) + 1) <= len(times):
            yield each


@dataclass(frozen=True)
class _Gauge:
    """Extremes, places, limit values and people of compared runs."""

    found: Comparison

    @cached_property
    def _towns(self) -> Sequence[City]:
        return cities(self.found.cells.area)

    def extreme(self, sign: int) -> ExtremeEffect | None:
        """Return the greatest decrease (-1) or increase (1); None where there is none."""
        change = sign * self.found.change
        hour, row, column = (int(each) for each in np.unravel_index(np.argmax(change), change.shape))
        if change[hour, row, column] <= 0.0:
            return None
        return self._at(hour, row, column)

    def _at(self, hour: int, row: int, column: int) -> ExtremeEffect:
        lon, lat = (float(each[row, column]) for each in self.found.cells.places)
        city, distance = self._nearest(lon, lat)
        moment = self.found.moments[hour]
        before, after = (float(each[hour, row, column]) for each in (self.found.before, self.found.after))
        return ExtremeEffect(
            before=before, after=after, seconds=moment.seconds, time=moment.time, lon=lon, lat=lat, city=city,
            distance=distance,
        )  # fmt: skip

    def _nearest(self, lon: float, lat: float) -> tuple[str | None, float | None]:
        """Return the nearest city and its distance [km]; None without a city in the area."""
        if not self._towns:
            return None, None
        far = [_distance(lon, lat, each.longitude, each.latitude) for each in self._towns]
        index = int(np.argmin(far))
        return self._towns[index].name, far[index]

    def place(self, lon: float, lat: float) -> PlaceEffect:
        """Return the means at a place, and its greatest change; values are None outside the map."""
        city, distance = self._nearest(lon, lat)
        cell = self._cell(*(float(each) for each in self._xy(lon, lat)))
        if cell is None or not self.found.valid[cell]:
            return PlaceEffect(lon=lon, lat=lat, city=city, distance=distance)
        change = self.found.change[:, *cell]
        before, after = (float(each[:, *cell].mean(dtype=np.float64)) for each in (self.found.before, self.found.after))
        return PlaceEffect(
            lon=lon, lat=lat, city=city, distance=distance, before=before, after=after,
            greatest=self._at(int(np.abs(change).argmax()), *cell),
        )  # fmt: skip

    def _xy(self, lon: float, lat: float) -> tuple[Array, Array]:
        return self.found.cells.area.positions(np.asarray(lon), np.asarray(lat))

    def _cell(self, x: float, y: float) -> tuple[int, int] | None:
        cells = self.found.cells
        axes = (cells.y_edges, y), (cells.x_edges, x)
        row, column = (int(np.searchsorted(edges, at, "right")) - 1 for edges, at in axes)
        return (row, column) if 0 <= row < cells.shape[0] and 0 <= column < cells.shape[1] else None

    @cached_property
    def _people(self) -> Array:
        """Population of the cities in each cell (rows, columns)."""
        people = np.zeros(self.found.cells.shape)
        for each in self._towns:
            cell = self._cell(each.x, each.y)
            if cell is not None and self.found.valid[cell]:
                people[cell] += each.population
        return people

    def people(self, threshold: float) -> PeopleEffect:
        """Return the people in cities whose mean has changed by more than a threshold."""
        mean = self.found.change.mean(axis=0)
        counted = sum(
            1 for each in self._towns if (cell := self._cell(each.x, each.y)) is not None and self.found.valid[cell]
        )
        return PeopleEffect(
            cities=counted, people=int(self._people.sum()), threshold=threshold,
            less=int(self._people[mean < -threshold].sum()), more=int(self._people[mean > threshold].sum()),
        )  # fmt: skip

    def limit(self, limit: LimitValue, molar_mass: float | None) -> LimitEffect:
        """Return the hours above a limit value in both runs, and the people of the cities concerned."""
        factor = 1e9 * (molar_mass or 0.0) * STANDARD  # mol/mol to µg/m3 with kg/mol
        length = _LENGTHS[limit.mean]
        hours, people = [], []
        for values in (self.found.before, self.found.after):
            above = _running(np.where(self.found.valid, values, 0.0) * factor, length) > limit.value
            hours.append(int(above.any(axis=(1, 2)).sum()))
            people.append(int(self._people[above.any(axis=0)].sum()))
        return LimitEffect(
            name=f"{limit.set_by} {limit.kind}", value=limit.value, mean=limit.mean, source=limit.source,
            hours_before=hours[0], hours_after=hours[1], people_before=people[0], people_after=people[1],
        )  # fmt: skip


def _running(values: AnyArray, length: int) -> Array:
    """Return means over windows of hours (hours - length + 1, ...)."""
    sums = np.cumsum(values.astype(np.float64), axis=0)
    sums = np.concatenate([np.zeros_like(sums[:1]), sums])
    return np.asarray((sums[length:] - sums[:-length]) / length)


def _distance(lon: float, lat: float, lon2: float, lat2: float) -> float:
    """Return the great-circle distance of two places [km]."""
    a, b, turn = np.radians(lat), np.radians(lat2), np.radians(lon2 - lon)
    part = np.sin((b - a) / 2) ** 2 + np.cos(a) * np.cos(b) * np.sin(turn / 2) ** 2
    return float(2e-3 * EARTH_RADIUS * np.arcsin(np.sqrt(min(float(part), 1.0))))
