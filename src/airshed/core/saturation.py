"""Saturation of the air with water vapour: e = 611.2 Pa exp(17.67 (T - 273.15 K)/(T - 29.65 K)) over water.

Source: Bolton 1980, Mon. Weather Rev. 108, 1046-1053.
"""

from typing import Final

import numpy as np

from airshed.core.arrays import Array

SATURATION_AT_FREEZING: Final = 611.2
"""Vapour pressure over water at the freezing point [Pa]."""

_FACTOR: Final = 17.67
_FREEZING: Final = 273.15  # [K]
_RANGE: Final = 243.5  # [K]
_POLE: Final = 29.65  # [K], freezing point less range
_COLDEST: Final = 150.0  # [K], below which the formula says nothing

SATURATION_FORMULA: Final = f"{SATURATION_AT_FREEZING!r}*exp({_FACTOR!r}*(T - {_FREEZING!r})/(T - {_POLE!r}))"
"""The vapour pressure over water [Pa] as a formula of the temperature T [K]."""


def saturation_vapour_pressure(temperature: Array) -> Array:
    """Return the vapour pressure over water [Pa] at a temperature [K]."""
    exponent = np.asarray(saturation_exponent(temperature))
    np.exp(exponent, out=exponent)
    exponent *= SATURATION_AT_FREEZING
    return exponent


def saturation_exponent(temperature: Array) -> Array:
    """Return the logarithm of the vapour pressure over water over that at the freezing point, of a temperature [K]."""
    celsius = np.maximum(temperature, _COLDEST) - _FREEZING
    return _FACTOR * celsius / (celsius + _RANGE)


def saturation_slope(temperature: Array) -> Array:
    """Return the derivative of the vapour pressure over water by temperature [Pa/K] at a temperature [K]."""
    return np.asarray(saturation_vapour_pressure(temperature) * _FACTOR * _RANGE / (temperature - _POLE) ** 2)


def dew_point(vapour_pressure: Array) -> Array:
    """Return the temperature [K] at which a vapour pressure [Pa] is that over water."""
    logarithm = np.asarray(np.maximum(vapour_pressure, 1e-3) / SATURATION_AT_FREEZING)
    np.log(logarithm, out=logarithm)
    left = _FACTOR - logarithm
    logarithm *= _RANGE
    logarithm /= left
    logarithm += _FREEZING
    return logarithm
