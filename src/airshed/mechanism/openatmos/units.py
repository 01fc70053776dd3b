"""Conversion between the format's mol m-3 and the mechanism's molecules cm-3.

A concentration of 1 mol m-3 is f = 1e-6 N_A = 6.02214076e17 molecules cm-3. A rate constant of n reactants has the unit
(mol m-3)^(1-n) s-1 in OpenAtmos v1 and (molecules cm-3)^(1-n) s-1 here; Camp JSON has the latter already.
"""

from typing import Final

from airshed.core.constants import AVOGADRO

MOLECULES_PER_MOLE: Final = 1e-6 * AVOGADRO
"""f: molecules cm-3 of 1 mol m-3."""


def concentration_from_molar(concentration: float) -> float:
    """Return a concentration [molecules cm-3] from [mol m-3]: c f."""
    return concentration * MOLECULES_PER_MOLE


def concentration_to_molar(concentration: float) -> float:
    """Return a concentration [mol m-3] from [molecules cm-3]: c / f."""
    return concentration / MOLECULES_PER_MOLE


def rate_from_molar(rate: float, order: int) -> float:
    """Return a rate constant of `order` reactants [molecules, cm3, s] from [mol, m3, s]: k f^(1-n)."""
    return rate * MOLECULES_PER_MOLE ** (1 - order)


def rate_to_molar(rate: float, order: int) -> float:
    """Return a rate constant of `order` reactants [mol, m3, s] from [molecules, cm3, s]: k f^(n-1)."""
    return rate * MOLECULES_PER_MOLE ** (order - 1)


def rate_unit(order: int) -> str:
    """Return the unit of a rate constant of `order` reactants, molecules cm-3 s-1 for none."""
    if order <= 1:
        return "1/s" if order else "molecules/cm3/s"
    power = "" if order == 2 else str(order - 1)
    return f"cm{3 * (order - 1)}/molecules{power}/s"
