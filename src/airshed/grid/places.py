"""Longitudes, latitudes and other coordinates of data, checked before anything is interpolated between them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airshed.core.data import conversion, numbers
from airshed.core.errors import DataError

Array = NDArray[np.float64]

_LIMITS = {"latitude": (-90.0, 90.0), "longitude": (-720.0, 720.0)}
_LIMITS |= {"lat": _LIMITS["latitude"], "lon": _LIMITS["longitude"]}
_LIMITS |= {"lat_face": _LIMITS["latitude"], "lon_face": _LIMITS["longitude"]}
_TOLERANCE = 1e-4
_SAME_PLACE = 1e-6


def in_degrees(name: str, values: NDArray[Any], attributes: Mapping[Any, Any], where: str) -> Array:
    """Return longitudes or latitudes [degrees] in the order in which they are given, from degrees or radians.

    name    of the coordinate; where: what has it, for messages
    raises  DataError for another unit, and as :func:`check_places`
    """
    change = conversion(attributes, "deg", f"{where}: its {name}")
    degrees = numbers(values, f"{where}: its {name}")
    if change.changes:
        degrees = change.factor * degrees + change.offset
    check_places(name, degrees, where)
    return degrees


def check_places(name: str, values: Array, where: str) -> None:
    """Raise DataError where the values of a coordinate are not finite, out of range, or not all different."""
    if not np.isfinite(values).all():
        raise DataError(f"{where}: its {name} holds {values[~np.isfinite(values)][0]}; every point needs a place")
    low, high = _LIMITS.get(name, (-np.inf, np.inf))
    wrong = values[(values < low - _TOLERANCE) | (values > high + _TOLERANCE)]
    if wrong.size:
        raise DataError(f"{where}: its {name} holds {wrong[0]:g}, outside {low:g} to {high:g}; mend the coordinate")
    ordered = np.sort(values)
    twice = ordered[1:][np.diff(ordered) <= _SAME_PLACE]
    if twice.size:
        raise DataError(f"{where}: its {name} has the value {twice[0]:g} more than once; take the double one out")


def check_gaps(name: str, nodes: Array, where: str) -> None:
    """Raise DataError where rising points of a uniform axis leave one out."""
    steps = np.diff(nodes)
    if steps.size and steps.max() > 1.5 * np.median(steps):
        gap = int(np.argmax(steps))
        raise DataError(
            f"{where} has nothing between {name} {nodes[gap]:g} and {nodes[gap + 1]:g}, though its points lie "
            f"{np.median(steps):g} apart; give the data without a gap"
        )
