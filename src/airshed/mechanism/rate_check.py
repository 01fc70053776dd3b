"""Refuses rate constants that are negative, not finite or beyond all bounds in the air that a run meets.

A reaction that ran backwards would make of its products what they were made of, and empty species below zero. Bounds
of a rate over all air that the atmosphere has, found once, clear nearly every reaction: what is left, such as
``1e-2*(TEMP - 300)``, is evaluated where a run evaluates its air. Outside of those bounds of the air all rates are.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

import numpy as np

from airshed.core.errors import MechanismError
from airshed.mechanism.bounds import Bounds, bounds
from airshed.mechanism.expressions import Environment, Value, dependencies, evaluate, parameters, symbols
from airshed.mechanism.location import error_at
from airshed.mechanism.network import ReactionNetwork

AIR: Final[Mapping[str, Bounds]] = {
    "TEMP": (150.0, 400.0), "PRESS": (1e-3, 2e5), "M": (1e10, 1e20), "O2": (1e6, 1e20), "N2": (1e6, 1e20),
    "H2O": (0.0, 1e19), "SUN": (0.0, 1.0), "sec_zenith": (1.0, 1e6), "daylight": (0.0, 10.0),
}  # fmt: skip
"""Bounds of the air and the sun for which rates are cleared, in the units of rates."""

_LARGEST: Final = 1e100
"""Far more than any rate has, in molecules, cm3 and s; products of it with densities are still numbers."""


class RateCheck:
    """Knows which rate constants of a network need a look, and looks at them.

    doubtful  numbers of the reactions whose rate constant may be negative or not finite in some air
    """

    def __init__(self, network: ReactionNetwork, given: Mapping[str, Bounds] | None = None) -> None:
        """``given`` are bounds of the network's parameters, where more is known of them than that they are numbers."""
        self.network = network
        known = {**AIR, **(given or {})}
        constants = enumerate(network.rate_constants)
        self.doubtful = tuple(number for number, constant in constants if not _clear(bounds(constant, known)))
        self._known = known

    @property
    def follows_the_sun(self) -> bool:
        """Whether the light decides about some rate."""
        return any("photolysis" in dependencies(self.network.rate_constants[number]) for number in self.doubtful)

    def __call__(self, environment: Environment, **besides: Value) -> None:
        """Look at the rate constants in an environment; raise MechanismError for the first that cannot be.

        besides  what the message tells beside the air, such as the time, of shapes that broadcast with the environment
        """
        usual = all(_within(environment[name], limits) for name, limits in self._known.items() if name in environment)
        for number in self.doubtful if usual else range(len(self.network.reactions)):
            constant = self.network.rate_constants[number]
            with np.errstate(all="ignore"):
                value = np.asarray(evaluate(constant, environment), np.float64)
            wrong = ~((value >= 0.0) & (value < _LARGEST))
            if wrong.any():
                raise self._fault(number, value, wrong, {**environment, **besides}, tuple(besides))

    def _fault(
        self, number: int, value: Any, wrong: Any, known: Environment, besides: tuple[str, ...]
    ) -> MechanismError:
        reaction, constant = self.network.reactions[number], self.network.rate_constants[number]
        names = [*sorted(symbols(constant)), *parameters(constant), *besides]
        whole = np.broadcast_arrays(value, wrong, *(known[name] for name in names))
        first = tuple(each[0] for each in np.nonzero(np.atleast_1d(whole[1])))
        found = float(np.atleast_1d(whole[0])[first])
        there = (float(np.atleast_1d(each)[first]) for each in whole[2:])
        air = ", ".join(f"{name} = {each:.6g}" for name, each in zip(names, there, strict=True))
        what = "not finite" if not isfinite(found) else "negative" if found < 0.0 else "larger than any"
        message = f"the rate constant of <{reaction.label}> is {what}: {found:.6g}{f' at {air}' if air else ''}"
        return error_at(reaction.location, f"{message}; write a rate that holds there, such as max(0, ...)")


def _clear(limits: Bounds) -> bool:
    return limits[0] >= 0.0 and limits[1] < _LARGEST


def _within(values: Any, limits: Bounds) -> bool:
    return bool(limits[0] <= np.min(values) and np.max(values) <= limits[1])
