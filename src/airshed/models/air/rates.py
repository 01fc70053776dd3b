"""Rate constants of a mechanism in a case: inputs from the air, functions in Python, factors on reactions."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import AVOGADRO, BOLTZMANN, NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.formula.tree import Binary, Number
from airshed.mechanism.expressions import Environment, Parameter, Value
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.rate_check import RateCheck
from airshed.models.air.light import Light
from airshed.models.air.weather import MetState

_CUBIC_CENTIMETRES = 1e6


def rate_environment(temperature: Any, density: Any, water: Any, secant: Any, daylight: Any) -> dict[str, Any]:
    """Return TEMP [K], PRESS = density k T [Pa], M, O2, N2, H2O [molecules cm-3], SUN, sec_zenith and daylight [1].

    temperature [K], density [molecules cm-3] of air, water [mol/mol], secant of the zenith angle (arbitrary at night)
    and light factor (0 at night): arrays or numbers that broadcast
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

    Functions receive TEMP [K], PRESS [Pa], M, O2, N2, H2O [molecules cm-3] on (level, lat, lon), and SUN, sec_zenith,
    daylight on (lat, lon). Raises MechanismError for a function that fails or does not return numbers, and for
    negative or infinite rate constants.
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


_OPEN: Final = "change of "


class RateFactors:
    """Factors on the rate constants of reactions, by label; initially 1.

    values  factors, used for the instants of the forcing that are computed next (``Forcing.renew``)
    """

    def __init__(self, labels: Iterable[str]) -> None:
        self.values = dict.fromkeys(labels, 1.0)

    def of(self, network: ReactionNetwork) -> ReactionNetwork:
        """Return a mechanism with these factors; raises CaseError for a reaction that it does not have."""
        known = [each.label for each in network.reactions]
        for label in self.values:
            if label not in known:
                raise CaseError(f"mechanism {network.name}: {label!r} is not a reaction; {suggestion(label, known)}")
        reactions = tuple(
            replace(each, rate=Binary("*", each.rate, Binary("+", Number(1.0), Parameter(_OPEN + each.label))))
            if each.label in self.values else each
            for each in network.reactions
        )  # fmt: skip
        return replace(
            network,
            reactions=reactions,
            callables={**network.callables, **{_OPEN + n: partial(self._above_one, n) for n in self.values}},
        )

    def _above_one(self, label: str, environment: Environment) -> Value:
        return self.values[label] - 1.0
