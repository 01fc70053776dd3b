"""Cloud cover from relative humidity, for data that has no cloud."""

import numpy as np
from numpy.typing import NDArray

from airshed.core.saturation import SATURATION_AT_FREEZING, saturation_exponent
from airshed.kernels.one_pass import one_pass

Array = NDArray[np.float64]

_CRITICAL_LAND = 0.75
_CRITICAL_SEA = 0.85
_DEEPEST_FOG = 100.0
_NEARLY_ALL = 1.0 - 1e-9
_TEMPERATURE_ERROR = 3.0
_MIDDLES_OF_FIFTHS = (-1.2816, -0.5244, 0.0, 0.5244, 1.2816)  # of the normal distribution


def cloud_fraction(relative_humidity: Array, land_fraction: Array) -> Array:
    """Return the cloud fraction 1 - sqrt((1 - RH) / (1 - RHc)) of layers [1], with RHc = 0.75 over land, 0.85 over sea.

    source  Sundqvist, Berge & Kristjansson 1989, Mon. Weather Rev. 117, 1641-1657
    """
    critical = _CRITICAL_LAND * land_fraction + _CRITICAL_SEA * (1.0 - land_fraction)
    dryness = (1.0 - relative_humidity) / (1.0 - critical)
    return 1.0 - np.sqrt(np.minimum(np.maximum(dryness, 0.0), 1.0))  # as it can be compiled, see kernels.one_pass


def total_cover(fraction: Array) -> Array:
    """Return the total cover of layers (level, ...) that overlap at most when they touch, at random otherwise.

    1 - product over k of (1 - max(c(k), c(k-1))) / (1 - c(k-1))
    source  Geleyn & Hollingsworth 1979, Beitr. Phys. Atmos. 52, 1-16
    """
    clear = 1.0 - np.clip(fraction[0], 0.0, _NEARLY_ALL)
    for gap in _gaps(fraction[1:], fraction[:-1]):
        clear *= gap
    return np.asarray(np.clip(1.0 - clear, 0.0, 1.0))


@one_pass
def _gaps(here: Array, below: Array) -> Array:
    here, below = (np.minimum(np.maximum(each, 0.0), _NEARLY_ALL) for each in (here, below))
    return (1.0 - np.maximum(here, below)) / (1.0 - below)


def diagnosed_cover(relative_humidity: Array, heights: Array, land_fraction: Array) -> Array:
    """Return the total cover of the layers above 100 m (level, lat, lon): moist air at the ground is no cloud."""
    return total_cover(cloud_fraction(relative_humidity[_with_cloud(heights)], land_fraction))


def possible_covers(
    water_vapour: Array, temperature: Array, pressure: Array, heights: Array, land_fraction: Array
) -> Array:
    """Return five total covers, each as likely as the others, where the temperature is an estimate: (5, lat, lon).

    They belong to T + 3 K times the middles of the fifths of the normal distribution; 3 K is about how far the air
    aloft departs in summer from the mean of season and latitude. Taken at its word, such an estimate makes the cover 0
    or 1 nearly everywhere, with edges in light, heat and mixing that no weather has.

    reads  water_vapour [mol/mol], temperature [K], pressure [Pa]  (level, lat, lon);  heights [m]  (level,)
    """
    layers = _with_cloud(heights)
    offsets = _TEMPERATURE_ERROR * np.array(_MIDDLES_OF_FIFTHS)[:, None, None]
    exponent = _exponent(temperature[layers, None], offsets)  # (level, 5, lat, lon)
    exponential = np.exp(exponent, out=exponent)
    vapour_pressure = water_vapour[layers, None] * pressure[layers, None]
    return total_cover(_fraction(vapour_pressure, exponential, land_fraction))


@one_pass
def _exponent(temperature: Array, offset: Array) -> Array:
    return saturation_exponent(temperature + offset)


@one_pass
def _fraction(vapour_pressure: Array, exponential: Array, land_fraction: Array) -> Array:
    return cloud_fraction(vapour_pressure / (SATURATION_AT_FREEZING * exponential), land_fraction)


def _with_cloud(heights: Array) -> slice:
    """Return the layers whose moist air counts as cloud: those above 100 m, or all where none reaches so high."""
    first = int(np.searchsorted(heights, _DEEPEST_FOG, side="right"))
    return slice(first if first < heights.size else 0, None)
