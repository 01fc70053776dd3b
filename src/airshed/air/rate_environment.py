"""The state of the air by the names that rates know it, see :data:`airshed.mechanism.expressions.SYMBOLS`."""

from typing import Any

import numpy as np

from airshed.core.constants import BOLTZMANN, NITROGEN_FRACTION, OXYGEN_FRACTION

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
