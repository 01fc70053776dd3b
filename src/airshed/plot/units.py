"""From mixing ratios to the units that air quality is reported in."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from airshed.core.constants import GAS_CONSTANT

Array = NDArray[np.float64]

MIXING_RATIO_UNITS = frozenset({"mol mol-1", "mol/mol", "mole mole-1"})
"""How CF files spell a mixing ratio."""


def mass_concentration(mixing_ratio: Array, molar_mass: float, pressure: Array, temperature: Array) -> Array:
    """Return the mass of a gas in a volume of air,  c = q M p / (R T)  [kg m-3].

    reads  mixing_ratio [mol/mol], molar_mass [kg/mol], pressure [Pa], temperature [K], of shapes that broadcast
    """
    return np.asarray(mixing_ratio * (molar_mass / GAS_CONSTANT) * pressure / temperature)


@dataclass(frozen=True)
class Unit:
    """A unit to show numbers in: its label, and by what to multiply SI values."""

    label: str
    factor: float


def mass_unit(largest: float) -> Unit:
    """Return µg/m³, or a neighbour of it where numbers [kg m-3] up to `largest` would have many zeros."""
    if largest >= 0.1:
        return Unit("g/m³", 1e3)
    if largest >= 1e-4:
        return Unit("mg/m³", 1e6)
    if largest >= 2e-11 or largest <= 0:
        return Unit("µg/m³", 1e9)
    return Unit("ng/m³", 1e12) if largest >= 2e-14 else Unit("pg/m³", 1e15)


def mixing_ratio_unit(largest: float) -> Unit:
    """Return ppb, or a neighbour of it where mixing ratios [mol/mol] up to `largest` would have many zeros."""
    if largest >= 1e-3:
        return Unit("mol/mol", 1.0)
    if largest >= 1e-5:
        return Unit("ppm", 1e6)
    return Unit("ppb", 1e9) if largest >= 2e-11 or largest <= 0 else Unit("ppt", 1e12)
