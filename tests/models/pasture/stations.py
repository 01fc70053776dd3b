"""A station with three plausible years: rain on about every fifth day, with cooler and moister air."""

from dataclasses import replace

import numpy as np

from airshed.models.pasture.forms import saturation_pressure as saturation
from airshed.models.pasture.weather.calendar import day_of_year
from airshed.models.pasture.weather.checks import extraterrestrial
from airshed.models.pasture.weather.station import UNITS, Column, Station


def plausible(days: int = 1096, first: str = "2018-01-01", **changes) -> Station:
    """Return a station; `changes` replace its attributes, such as the name."""
    random = np.random.default_rng(days)
    dates = np.datetime64(first, "D") + np.arange(days)
    season = np.cos(2 * np.pi * (day_of_year(dates) - 15) / 365.25)
    wet = random.random(days) < 0.2
    minimum = 12.0 + 7.0 * season + random.normal(0.0, 2.0, days) + 2.0 * wet
    maximum = minimum + np.where(wet, 8.0, 14.0) + np.abs(random.normal(0.0, 2.0, days))
    light = extraterrestrial(-26.0, day_of_year(dates)) * np.where(wet, 0.4, 0.65)
    values = {
        "rain": np.where(wet, random.exponential(8.0, days) + 0.2, 0.0),
        "pan_evaporation": 0.3 * light,
        "radiation": light,
        "max_temperature": maximum,
        "min_temperature": minimum,
        "vapour_pressure": saturation(minimum) * np.where(wet, 1.0, 0.85),
    }
    columns = {name: Column(each, UNITS[name], name) for name, each in values.items()}
    station = Station("SOMEWHERE", "somewhere.met", -26.0, 148.0, dates, columns)
    return replace(station, **changes)


def with_values(station: Station, **changes) -> Station:
    """Return the station with new values in some columns, and without the columns that are None."""
    columns = {name: each for name, each in station.columns.items() if changes.get(name, 0) is not None}
    for name, values in changes.items():
        if values is not None:
            columns[name] = Column(np.asarray(values, np.float64), UNITS[name], name)
    return replace(station, columns=columns)


def without_days(station: Station, *days: int) -> Station:
    """Return the station without some days, given by their numbers."""
    columns = {name: replace(each, values=np.delete(each.values, days)) for name, each in station.columns.items()}
    return replace(station, dates=np.delete(station.dates, days), columns=columns)


def deficit(station: Station) -> np.ndarray:
    """Return the deficit that belongs to a station's vapour pressure."""
    air = 0.75 * saturation(station["max_temperature"]) + 0.25 * saturation(station["min_temperature"])
    return air - station["vapour_pressure"]
