"""Functions that several groups of equations share; they apply to arrays and to traced expressions."""

from math import log
from typing import Any, Final

from airshed.formula import exp, maximum, minimum

HALF: Final = log(2.0)
"""Exponent at which an exponential cover is 0.5."""

_LEAST: Final = 1e-9
Value = Any
"""A number, an array of cells, or a traced expression."""


def clamp(value: Value, least: Value, most: Value) -> Value:
    """Return a value limited to a range."""
    return minimum(maximum(value, least), most)


def ratio(part: Value, whole: Value) -> Value:
    """Return part / whole for a nonnegative whole; 0 / 0 is 0."""
    return part / maximum(whole, _LEAST)


def competition(share: Value, advantage: Value) -> Value:
    """Return McKeon's curve of competition: a x / (1 + (a - 1) x)."""
    return advantage * share / (1.0 + (advantage - 1.0) * share)


def saturation_pressure(temperature: Value) -> Value:
    """Return the saturation pressure of water vapour [hPa] at a temperature [degC]: 6.1078 exp(17.269 T / (237.3 + T)).

    Source: Murray (1967), J. Appl. Meteorol. 6, 203-204, with Tetens' coefficients.
    """
    return 6.1078 * exp(17.269 * temperature / (237.3 + temperature))


def is_within(day: Value, first: Value, last: Value) -> Value:
    """Return True if a day of the year is in a season, which may include the new year."""
    return ((first <= last) & (day >= first) & (day <= last)) | ((first > last) & ((day >= first) | (day <= last)))
