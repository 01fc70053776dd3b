"""The air by the names that rates know it, and what a mechanism's functions in Python compute of it at one instant.

Names are those of :data:`airshed.mechanism.expressions.SYMBOLS`. All rate constants are looked at then: none may be
negative.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.constants import AVOGADRO, BOLTZMANN, NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.mechanism.rate_check import RateCheck
from airshed.models.air.light import Light
from airshed.models.air.weather import MetState

Array = npt.NDArray[np.float64]

_CUBIC_CENTIMETRES = 1e6


def rate_environment(temperature: Any, density: Any, water: Any, secant: Any, daylight: Any) -> dict[str, Any]:
    """Return TEMP [K], PRESS = density k T [Pa], M, O2, N2, H2O [molecules cm-3], SUN, sec_zenith and daylight [1].

    temperature [K], density [molecules cm-3] of air, water [mol/mol], secant of the zenith angle (any at night) and
    light factor (0 at night), arrays or numbers of shapes that broadcast
    """
    return {
        "TEMP": temperature,
        "PRESS": density * temperature * (_CUBIC_CENTIMETRES * BOLTZMANN),
        "M": density,
        "O2": OXYGEN_FRACTION * density,
        "N2": NITROGEN_FRACTION * density,
        "H2O": water * density,
        "SUN": np.where(np.asarray(daylight) > 0.0, 1.0 / secant, 0.0),
        "sec_zenith": secant,
        "daylight": daylight,
    }


def open_rates(check: RateCheck, light: Light, met: MetState, seconds: float) -> Array:
    """Return the parameters of a checked mechanism (parameter, level, lat, lon) [molecules, cm3, s] at a time [s].

    The functions see TEMP [K], PRESS [Pa], M, O2, N2, H2O [molecules cm-3] on (level, lat, lon), and SUN, sec_zenith,
    daylight on (lat, lon). Raises MechanismError for a function that fails or gives what is no number, and for a rate
    constant that is negative or not finite in this air.
    """
    network, shape = check.network, met.temperature.shape
    if not network.reactions:
        return np.zeros((0, *shape))
    density = met.air_density * (AVOGADRO / _CUBIC_CENTIMETRES)
    secant, daylight = light.secant_and_factor(seconds, met.cloud_cover)
    environment = rate_environment(met.temperature, density, met.water_vapour, secant, daylight)
    values = network.host_values(environment)
    up = np.where(np.asarray(daylight) > 0.0, secant, 1.0)
    check({**environment, "sec_zenith": up, **values}, t=seconds)
    if not network.parameters:
        return np.zeros((0, *shape))
    return np.stack([np.broadcast_to(values[each.name], shape) for each in network.parameters])
