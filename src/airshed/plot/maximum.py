"""The maximum of a run's main field in a line: value, location with the nearest city, and time."""

from math import atan2, cos, degrees, hypot, inf, radians
from pathlib import Path
from typing import Final

from airshed.core.constants import EARTH_RADIUS
from airshed.io.results import open_run
from airshed.plot import units
from airshed.plot.geography import Area, cities
from airshed.plot.limits import format_number
from airshed.plot.results import Results, place_in_words
from airshed.plot.units import daily

_NEAR: Final = 25.0  # km: the cell and the city are one place on a map
_FAR: Final = 150.0  # km: beyond, a city describes no location
_POINTS: Final = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")


def maximum_in_words(run: Path) -> str:
    """Return the maximum of the main field of a run with its location and time."""
    with open_run(run) as dataset:
        results = Results(dataset, run)
        field = results.chosen(None)[0]
        quantity, greatest = results.quantity(field), results.greatest(field)
        time = results.times[greatest.time]
        lon, lat = (float(each[greatest.row, greatest.column]) for each in results.cells.places)
        unit = "" if quantity.unit in ("", "1") else f" {quantity.unit}"
        when = units.date(time) + ("" if daily(results.times) else f", {units.clock(time)} UTC")
        where = f"{place_in_words(results, field)} {location_in_words(results.area, lon, lat)}"
        below = "; none at the ground" if results.layer(field) > 0 else ""
    return f"{quantity.title} {format_number(greatest.value)}{unit} {where}, {when}{below}"


def location_in_words(area: Area, longitude: float, latitude: float) -> str:
    """Return a location as "near Essen", "60 km south of Essen", or in degrees where no city is near.

    Of several cities at about the same distance the largest is named.
    """
    offsets = [
        (city, cos(radians(latitude)) * _turn(longitude - city.longitude), latitude - city.latitude)
        for city in cities(area)
    ]
    distances = [radians(hypot(east, north)) * EARTH_RADIUS / 1e3 for _, east, north in offsets]
    nearest = min(distances, default=inf)
    if nearest > _FAR:
        return f"at {units.latitude(round(latitude, 2))}, {units.longitude(round(longitude, 2))}"
    best = next(index for index, distance in enumerate(distances) if distance <= nearest + _NEAR)  # the largest first
    city, east, north = offsets[best]
    if distances[best] <= _NEAR:
        return f"near {city.name}"
    direction = _POINTS[round(degrees(atan2(east, north)) / 45.0) % 8]
    return f"{round(distances[best], -1):.0f} km {direction} of {city.name}"


def _turn(degrees_east: float) -> float:
    """Return a difference of longitudes between -180 and 180 degrees."""
    return (degrees_east + 180.0) % 360.0 - 180.0
