"""Weather of cells between stations, by inverse distance and stated gradients; the same values as from a store.

    value(cell) = sum_s w_s value_s reference(cell) / reference_s        or, for temperatures,
    value(cell) = reference(cell) + sum_s w_s (value_s - reference_s)    w_s ~ (distance^2 + 20 km^2)^(-3/2)

over the stations that have a value on that day, or in that week: stations that do not know theirs are left out.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.constants import EARTH_RADIUS
from airshed.core.errors import DataError
from airshed.grid.land import LandGrid
from airshed.models.pasture.inputs.area import coast_distance, distance_to_coast
from airshed.models.pasture.inputs.block import AnyArray, Block
from airshed.models.pasture.inputs.gradients import GRADIENTS
from airshed.models.pasture.inputs.numbers import Numbers
from airshed.models.pasture.inputs.packing import DAILY, PACKINGS
from airshed.models.pasture.weather.calendar import Calendar
from airshed.models.pasture.weather.station import Station

Array = npt.NDArray[np.float64]

NAMES: Final = tuple(GRADIENTS)
POWER: Final = 3.0
_SMOOTH: Final = 20.0  # [km], within which a station is not preferred to another


class StationWeather:
    """The weather of packed cells from stations; see `WeatherSource`.

    stations  with vapour pressure, NaN where they do not know a value
    Raises DataError for a day on which no station knows a field.
    """

    block_days = 64
    names = NAMES

    def __init__(self, stations: Sequence[Station], grid: LandGrid, calendar: Calendar) -> None:
        self.calendar, self.cells = calendar, grid.cells
        places = np.array([(each.latitude, each.longitude) for each in stations], np.float64)
        self._weights = _weights(places, grid)
        at_station = distance_to_coast(*places.T), coast_distance(grid)
        self._series = {name: _series(stations, name, calendar) for name in NAMES}
        self._references = {
            name: (each.reference(places[:, 0], at_station[0]), each.reference(grid.cell_lat, at_station[1]))
            for name, each in GRADIENTS.items()
        }

    def block(self, first: int, days: int, cells: tuple[int, int], dtype: npt.DTypeLike = np.float64) -> Block:
        """Return weather as values; see `WeatherSource`."""
        return self.numbers(first, days, cells).decoded(dtype)

    def numbers(self, first: int, days: int, cells: tuple[int, int]) -> Numbers:
        """Return the same as the numbers that a store has."""
        self.calendar.check(first, days, "the stations")
        weeks = self.calendar.week([first, first + days - 1])
        rows = {True: slice(first, first + days), False: slice(int(weeks[0]), int(weeks[1]) + 1)}
        parts = {name: self._between(name, rows[name in DAILY], slice(*cells)) for name in NAMES}
        return Numbers(self.calendar, first, days, parts)

    def _between(self, name: str, rows: slice, cells: slice) -> AnyArray:
        """The numbers of a field (rows, cells)."""
        values, (of_station, of_cell) = self._series[name][rows], self._references[name]
        reference = of_cell[cells]
        if GRADIENTS[name].shifts:
            found = reference + _mean(values - of_station, self._weights[:, cells])
        else:
            found = reference * _mean(values / of_station, self._weights[:, cells])
        return PACKINGS[name].packed(found, f"between stations {name}")


def _series(stations: Sequence[Station], name: str, calendar: Calendar) -> Array:
    """Values of stations (days or weeks, stations), NaN where they are not known; raises DataError where none is."""
    days = np.full((calendar.days, len(stations)), np.nan)
    for column, station in zip(days.T, stations, strict=True):
        if name in station:
            place = (station.dates - calendar.first).astype(np.int64)
            held = (place >= 0) & (place < calendar.days)
            column[place[held]] = station[name][held]
    rows = days if name in DAILY else _weekly(days, calendar)
    unknown = np.isnan(rows).all(axis=1)
    if unknown.any():
        first = int(np.argmax(unknown))
        at = first if name in DAILY else int(np.argmax(calendar.week(np.arange(calendar.days)) == first))
        span = "on" if name in DAILY else "in the week of"
        raise DataError(
            f"no station knows {name} {span} {calendar.dates([at])[0]}; add a station, or choose years without that "
            "day (--years)"
        )
    return rows


def _weekly(days: Array, calendar: Calendar) -> Array:
    """Means over the days of each week that are known (weeks, stations)."""
    weeks = calendar.week(np.arange(calendar.days))
    known = np.isfinite(days)
    sums, counts = (np.zeros((calendar.weeks, days.shape[1])) for _ in range(2))
    np.add.at(sums, weeks, np.where(known, days, 0.0))
    np.add.at(counts, weeks, known)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _weights(places: Array, grid: LandGrid) -> Array:
    """Weights (stations, cells), not yet of the sum 1."""
    lat, lon = np.radians(grid.cell_lat), np.radians(grid.cell_lon)
    north, east = np.radians(places).T
    across = np.cos(lat) * np.cos(north)[:, None] * np.sin((lon - east[:, None]) / 2.0) ** 2
    angle = 2.0 * np.arcsin(np.sqrt(np.sin((lat - north[:, None]) / 2.0) ** 2 + across))
    distance = EARTH_RADIUS / 1000.0 * angle
    weights = (distance**2 + _SMOOTH**2) ** (-POWER / 2.0)
    return np.asarray(weights / weights.max(axis=0))


def _mean(values: Array, weights: Array) -> Array:
    """Weighted means (rows, cells) of the values (rows, stations) that are known.

    Stations are added one after the other, so that a cell's bits do not depend on how many cells are asked for.
    """
    known = np.isfinite(values)
    patterns, of_row = np.unique(known, axis=0, return_inverse=True)
    result = np.zeros((len(values), weights.shape[1]))
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(of_row.ravel() == number)
        chosen = np.flatnonzero(pattern)
        total = np.zeros(weights.shape[1])
        for station in chosen:
            total += weights[station]
        sums = np.zeros((len(rows), weights.shape[1]))
        for station in chosen:
            sums += values[rows, station, None] * weights[station]
        result[rows] = sums / total
    return result


def common_calendar(stations: Sequence[Station], names: Sequence[str] = NAMES) -> Calendar:
    """Return the days from the first to the last on which some station has each field; raises DataError for none."""
    first, last = [], []
    for name in names:
        spans = [station.dates[np.isfinite(station[name])] for station in stations if name in station]
        spans = [each for each in spans if each.size]
        if not spans:
            raise DataError(f"no station has {name}; add one that has, or declare the humidity of one")
        first.append(min(each[0] for each in spans))
        last.append(max(each[-1] for each in spans))
    if max(first) > min(last):
        raise DataError("there is no day on which stations have all fields; add stations of the same time")
    return Calendar.between(max(first), min(last))
