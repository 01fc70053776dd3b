"""Light for photolysis: day or night, the path of the sunlight, and what clouds leave of it.

A mechanism gives photolysis rates a exp(-b sec z) under a clear sky, z being the solar zenith angle; the model uses

    J = daylight(cos z) * a exp(-b effective_secant(cos z)) * cloud_factor(cloud cover, cos z)
"""

from math import exp
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SMALLEST_COSINE: Final = 1e-3
STEEPEST_COSINE: Final = 0.5
_OPTICAL_DEPTH: Final = 20.0
_SCATTER_FORWARD: Final = 0.86
_TRANSMISSION: Final = (5.0 - exp(-_OPTICAL_DEPTH)) / (4.0 + 3.0 * _OPTICAL_DEPTH * (1.0 - _SCATTER_FORWARD))
OVERCAST: Final = 1.6 * _TRANSMISSION
"""What an overcast sky leaves of the light, over the cosine of the zenith angle."""


def daylight(cos_zenith: Array) -> Array:
    """Return 1 where the sun is above the horizon, 0 where it is not; same shape as ``cos_zenith`` [1]."""
    return np.where(np.asarray(cos_zenith) > 0.0, 1.0, 0.0)


def effective_secant(cos_zenith: Array) -> Array:
    """Return sec z, finite also where the sun is at or below the horizon.

    1 / max(cos z, 0.001): above the horizon by 0.06 degrees or more this is the secant itself; a exp(-b sec z) with
    b > 0 goes to 0 smoothly on the way there, so that the day begins and ends without a jump.

    reads    cos_zenith [1], any shape
    returns  same shape [1], 1 to 1000
    """
    return np.asarray(1.0 / np.maximum(cos_zenith, SMALLEST_COSINE))


def cloud_factor(cloud_cover: Array, cos_zenith: Array) -> Array:
    """Return photolysis under broken cloud over photolysis under a clear sky, for air below the cloud.

    F = 1 + n (1.6 t cos z - 1),   t = (5 - exp(-tau)) / (4 + 3 tau (1 - 0.86))

    t is the cloud's transmission of light, tau its optical depth; cloud cover n says nothing about it, so it is 20, a
    layer of stratocumulus of 120 g m-2 liquid water with droplets of 9 um. cos z is not taken below 0.5, where
    the formula ends. An overcast sky leaves a third of the light to half of it (sun at 60 and at 40 degrees).

    reads    cloud_cover [1] 0 to 1, cos_zenith [1], broadcast against each other
    returns  [1] above 0
    source   Chang et al. 1987, J. Geophys. Res. 92, 14681-14700, section 3.3
    """
    overcast = OVERCAST * np.maximum(cos_zenith, STEEPEST_COSINE)
    return np.asarray(1.0 + np.clip(cloud_cover, 0.0, 1.0) * (overcast - 1.0))
