"""Longitudes, latitudes and other coordinates of data, checked before interpolation."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.data import conversion, numbers
from airshed.core.errors import DataError

_LIMITS = {"latitude": (-90.0, 90.0), "longitude": (-720.0, 720.0)}
_LIMITS |= {"lat": _LIMITS["latitude"], "lon": _LIMITS["longitude"]}
_LIMITS |= {"lat_face": _LIMITS["latitude"], "lon_face": _LIMITS["longitude"]}
_TOLERANCE = 1e-4
_SAME_PLACE = 1e-6


def to_degrees(name: str, values: NDArray[Any], attributes: Mapping[Any, Any], where: str) -> Array:
    """Return longitudes or latitudes [degrees] in the given order, from degrees or radians.

    name    of the coordinate
    where   source of the data, for messages
    raises  DataError for another unit, and as :func:`check_places`
    """
    change = conversion(attributes, "deg", f"{where}: its {name}")
    degrees = numbers(values, f"{where}: its {name}")
    if change.changes:
        degrees = change.factor * degrees + change.offset
    check_places(name, degrees, where)
    return degrees


def check_places(name: str, values: Array, where: str) -> None:
    """Raise DataError if values of a coordinate are not finite, out of range, or not distinct."""
    if not np.isfinite(values).all():
        raise DataError(f"{where}: its {name} holds {values[~np.isfinite(values)][0]}; every point needs a coordinate")
    low, high = _LIMITS.get(name, (-np.inf, np.inf))
    wrong = values[(values < low - _TOLERANCE) | (values > high + _TOLERANCE)]
    if wrong.size:
        raise DataError(f"{where}: its {name} holds {wrong[0]:g}, outside {low:g} to {high:g}; correct the coordinate")
    ordered = np.sort(values)
    twice = ordered[1:][np.diff(ordered) <= _SAME_PLACE]
    if twice.size:
        raise DataError(f"{where}: its {name} has the value {twice[0]:g} more than once; remove the duplicate")


def wrap_longitude(lon: float, west: float, east: float) -> float:
    """Return a longitude shifted by full turns into an area: 355 in an area of -10 to 10 is -5."""
    return lon if west <= lon <= east else west + (lon - west) % 360.0


def faces_around(centres: Array) -> Array:
    """Return the faces of cells: half-way between the centres, symmetric in the outermost cells; one cell is 1 wide."""
    if centres.size == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    inner = 0.5 * (centres[1:] + centres[:-1])
    return np.concatenate([[2.0 * centres[0] - inner[0]], inner, [2.0 * centres[-1] - inner[-1]]])


def around_meridian(lon: Array, meridian: float) -> Array:
    """Return longitudes shifted by full turns to within 180 degrees of a meridian: 355 around 0 is -5."""
    return np.asarray(meridian + (lon - meridian + 180.0) % 360.0 - 180.0)


def unique_longitudes(lon: Array) -> NDArray[np.intp]:
    """Return the indices of ascending longitudes without duplicates: a dataset may repeat its seam, as 0 and 360."""
    first = np.concatenate([[True], np.diff(lon) > _SAME_PLACE])
    if lon[-1] - lon[0] > 360.0 - _SAME_PLACE:
        first[-1] = False
    return np.flatnonzero(first)


def periodic_nodes(lon: Array) -> tuple[NDArray[np.intp], Array] | None:
    """Return indices and longitudes of a full circle with one more point at either end; None if it is not a full
    circle.

    lon  ascending, without duplicates
    """
    steps = np.diff(lon)
    if lon.size < 3 or lon[0] + 360.0 - lon[-1] > 1.5 * np.median(steps):
        return None
    numbers = np.concatenate([[lon.size - 1], np.arange(lon.size), [0]])
    return numbers, np.concatenate([[lon[-1] - 360.0], lon, [lon[0] + 360.0]])


def check_gaps(name: str, nodes: Array, where: str) -> None:
    """Raise DataError if ascending points of a uniform axis have a gap."""
    steps = np.diff(nodes)
    if steps.size and steps.max() > 1.5 * np.median(steps):
        gap = int(np.argmax(steps))
        raise DataError(
            f"{where} has no points between {name} {nodes[gap]:g} and {nodes[gap + 1]:g}, although their spacing is "
            f"{np.median(steps):g}; give data without gaps"
        )
