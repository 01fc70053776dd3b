"""What functions in Python compute of a mechanism's rates, for the air of the model at one instant."""

import numpy as np
import numpy.typing as npt

from airshed.air.light import Light
from airshed.air.meteorology import MetState
from airshed.air.rate_environment import rate_environment
from airshed.core.constants import AVOGADRO
from airshed.mechanism.network import ReactionNetwork

Array = npt.NDArray[np.float64]

_CUBIC_CENTIMETRES = 1e6


def open_rates(network: ReactionNetwork, light: Light, met: MetState, seconds: float) -> Array:
    """Return the parameters of a mechanism (parameter, level, lat, lon) [molecules, cm3, s] at a time [s].

    The functions see TEMP [K], PRESS [Pa], M, O2, N2, H2O [molecules cm-3] on (level, lat, lon), and SUN, sec_zenith,
    daylight on (lat, lon). Raises MechanismError for a function that fails or gives what is no number.
    """
    shape = met.temperature.shape
    if not network.parameters:
        return np.zeros((0, *shape))
    density = met.air_density * (AVOGADRO / _CUBIC_CENTIMETRES)
    secant, daylight = light.secant_and_factor(seconds, met.cloud_cover)
    environment = rate_environment(met.temperature, density, met.water_vapour, secant, daylight)
    values = network.host_values(environment)
    return np.stack([np.broadcast_to(values[each.name], shape) for each in network.parameters])
