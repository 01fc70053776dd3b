"""Saturation vapour pressure over water: e = 611.2 Pa exp(17.67 (T - 273.15 K)/(T - 29.65 K)).

Source: Bolton 1980, Mon. Weather Rev. 108, 1046-1053.
"""

from typing import Final

import numpy as np

from airshed.core.arrays import Array

SATURATION_AT_FREEZING: Final = 611.2
"""Saturation vapour pressure over water at the freezing point [Pa]."""

_FACTOR: Final = 17.67
_FREEZING: Final = 273.15  # [K]
_RANGE: Final = 243.5  # [K]
_POLE: Final = 29.65  # [K], freezing point minus range
_COLDEST: Final = 150.0  # [K], lower limit of the formula

SATURATION_FORMULA: Final = f"{SATURATION_AT_FREEZING!r}*exp({_FACTOR!r}*(T - {_FREEZING!r})/(T - {_POLE!r}))"
"""Saturation vapour pressure over water [Pa] as a formula of the temperature T [K]."""


def saturation_vapour_pressure(temperature: Array) -> Array:
    """Return the saturation vapour pressure over water [Pa] at a temperature [K]."""
    exponent = np.asarray(saturation_exponent(temperature))
    np.exp(exponent, out=exponent)
    exponent *= SATURATION_AT_FREEZING
    return exponent


_TRIPLE: Final = 273.16  # [K]
_ALL_ICE: Final = 250.16  # [K]


def mixed_phase_saturation(temperature: Array) -> Array:
    """Return the saturation vapour pressure [Pa] that relative humidity of weather models refers to.

    Over water above 273.16 K, over ice below 250.16 K, with ((T - 250.16)/23)^2 of the part over water in between;
    each 611.21 Pa exp(a (T - 273.16)/(T - b)), a = 17.502 and b = 32.19 K over water, 22.587 and -0.7 K over ice
    source  ECMWF, IFS Documentation CY41R2, Part IV, section 7.2.1 (b)
    """
    above = np.maximum(temperature, _COLDEST)
    water, ice = (
        611.21 * np.exp(factor * (above - _TRIPLE) / (above - pole))
        for factor, pole in ((17.502, 32.19), (22.587, -0.7))
    )
    part = np.clip((above - _ALL_ICE) / (_TRIPLE - _ALL_ICE), 0.0, 1.0) ** 2
    return np.asarray(part * water + (1.0 - part) * ice)


def saturation_exponent(temperature: Array) -> Array:
    """Return the logarithm of the saturation vapour pressure relative to the freezing point, at a temperature [K]."""
    celsius = np.maximum(temperature, _COLDEST) - _FREEZING
    return _FACTOR * celsius / (celsius + _RANGE)


def saturation_slope(temperature: Array) -> Array:
    """Return the derivative of the saturation vapour pressure with respect to temperature [Pa/K] at a temperature
    [K].
    """
    return np.asarray(saturation_vapour_pressure(temperature) * _FACTOR * _RANGE / (temperature - _POLE) ** 2)


def dew_point(vapour_pressure: Array) -> Array:
    """Return the dew point [K] of a vapour pressure [Pa]."""
    logarithm = np.asarray(np.maximum(vapour_pressure, 1e-3) / SATURATION_AT_FREEZING)
    np.log(logarithm, out=logarithm)
    left = _FACTOR - logarithm
    logarithm *= _RANGE
    logarithm /= left
    logarithm += _FREEZING
    return logarithm
