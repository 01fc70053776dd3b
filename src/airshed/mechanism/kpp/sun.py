"""KPP's own day: the light that its drivers give to mechanisms as SUN.

With h the local time of day [hours] and x = (2 h - sunrise - sunset)/(sunset - sunrise), sunrise 4.5 h, sunset 19.5 h:

    SUN = (1 + cos(pi x |x|))/2 between sunrise and sunset, else 0

so that SUN is 1 at noon and falls smoothly to 0. Source: the manual of KPP, https://kpp.readthedocs.io.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

SUNRISE: Final = 4.5
"""Local time of day [hours]."""

SUNSET: Final = 19.5
"""Local time of day [hours]."""


def kpp_sun(seconds: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return SUN [1], of the shape of `seconds` since local midnight [s] of any day."""
    hour = np.asarray(seconds, dtype=np.float64) / 3600.0 % 24.0
    x = (2.0 * hour - SUNRISE - SUNSET) / (SUNSET - SUNRISE)
    return np.where(np.abs(x) <= 1.0, 0.5 * (1.0 + np.cos(np.pi * x * np.abs(x))), 0.0)
