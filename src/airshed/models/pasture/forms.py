"""Forms that several groups of equations have; they work on arrays, and become code."""

from math import log
from typing import Any, Final

from airshed.formula import exp, maximum, minimum

HALF: Final = log(2.0)
"""An exponential cover is a half where its exponent is this."""

_LEAST: Final = 1e-9
Value = Any
"""A number, an array of cells, or what is traced."""


def clamp(value: Value, least: Value, most: Value) -> Value:
    """Return what is nearest to a value in a range."""
    return minimum(maximum(value, least), most)


def ratio(part: Value, whole: Value) -> Value:
    """Return part / whole for a whole that is not negative; 0 / 0 is 0."""
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
    """Whether a day of the year lies in a season, which may go on past the new year."""
    return ((first <= last) & (day >= first) & (day <= last)) | ((first > last) & ((day >= first) | (day <= last)))
