"""Physical constants in SI units.

Sources: CODATA 2018 for exact values; WMO and IUPAC for air, the Earth and the elements.
"""

from collections.abc import Mapping
from typing import Final

AVOGADRO: Final = 6.02214076e23
"""Molecules per mole [1/mol], exact (CODATA 2018)."""

GAS_CONSTANT: Final = 8.31446261815324
"""Molar gas constant [J/(mol K)], exact (CODATA 2018)."""

BOLTZMANN: Final = 1.380649e-23
"""Boltzmann constant [J/K], exact (CODATA 2018)."""

GRAVITY: Final = 9.80665
"""Standard acceleration of gravity [m/s2]."""

EARTH_RADIUS: Final = 6.371e6
"""Mean radius of the Earth [m]."""

MOLAR_MASS_DRY_AIR: Final = 28.9647e-3
"""Molar mass of dry air [kg/mol]."""

MOLAR_MASS_WATER: Final = 18.01528e-3
"""Molar mass of water [kg/mol]."""

GAS_CONSTANT_DRY_AIR: Final = GAS_CONSTANT / MOLAR_MASS_DRY_AIR
"""Specific gas constant of dry air [J/(kg K)], 287.05."""

HEAT_CAPACITY_DRY_AIR: Final = 1004.7
"""Specific heat of dry air at constant pressure [J/(kg K)]."""

VON_KARMAN: Final = 0.4
"""von Karman constant [1]."""

OXYGEN_FRACTION: Final = 0.2095
"""Mole fraction of O2 in dry air [mol/mol]."""

NITROGEN_FRACTION: Final = 0.7808
"""Mole fraction of N2 in dry air [mol/mol]."""

SECONDS_PER_DAY: Final = 86400.0
SECONDS_PER_HOUR: Final = 3600.0
"""Length of a day [s]."""

ATOMIC_WEIGHTS: Final[Mapping[str, float]] = {
    "H": 1.008, "He": 4.0026, "Li": 6.94, "Be": 9.0122, "B": 10.81, "C": 12.011, "N": 14.007, "O": 15.999,
    "F": 18.998, "Ne": 20.180, "Na": 22.990, "Mg": 24.305, "Al": 26.982, "Si": 28.085, "P": 30.974, "S": 32.06,
    "Cl": 35.45, "Ar": 39.95, "K": 39.098, "Ca": 40.078, "Ti": 47.867, "V": 50.942, "Cr": 51.996, "Mn": 54.938,
    "Fe": 55.845, "Co": 58.933, "Ni": 58.693, "Cu": 63.546, "Zn": 65.38, "As": 74.922, "Se": 78.971, "Br": 79.904,
    "Kr": 83.798, "Sr": 87.62, "Mo": 95.95, "Cd": 112.41, "Sn": 118.71, "Sb": 121.76, "I": 126.90, "Xe": 131.29,
    "Cs": 132.91, "Ba": 137.33, "Hg": 200.59, "Pb": 207.2,
}  # fmt: skip
"""Standard atomic weights [g/mol] (IUPAC 2021, abridged) of the elements in atmospheric mechanisms."""
