"""Physical constants in SI units.

Sources: CODATA 2018 for the exact ones; WMO and IUPAC values for air and the Earth.
"""

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
